// @module-tag database

import { CompiledQuery } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { clientRegistryOf } from '../../src/store/client-registry.ts'
import { rawDatabase } from '../../src/store/database.ts'
import { assemble, isOnPostgres } from '../support/start.ts'
import { observe, type Statement } from '../support/statements.ts'

test('a CORS check is one lookup by an index, however many redirect URIs are registered', async () => {
  const assembly = await assemble()
  const { service, context } = assembly
  onTestFinished(() => service.close())
  await clientRegistryOf(context.store.db, 'demo').transact(async (clients) => {
    for (let index = 0; index < 50; index += 1) {
      const redirectUris = Array.from(
        { length: 10 },
        (_, uri) => `https://h${index}-${uri}.example/${'p'.repeat(2_000)}`,
      )
      await clients.create({ id: `app_${index}`, name: 'x', kind: 'public', redirectUris })
    }
  })
  const statements: Statement[] = []
  observe(assembly, { after: (statement) => void statements.push(statement) })
  async function allowed(origin: string): Promise<string | null> {
    const headers = { origin, 'access-control-request-method': 'POST' }
    const answer = await service.fetch(`${service.authUrl}/auth/v1/token`, { method: 'OPTIONS', headers })
    return answer.headers.get('access-control-allow-origin')
  }
  expect(await allowed('https://h49-9.example')).toBe('https://h49-9.example')
  expect(await allowed('https://stranger.example')).toBeNull()
  const about = statements.filter(({ sql }) => sql.includes('client_redirect_uris'))
  expect(about).toHaveLength(2)
  for (const { sql, parameters } of about) {
    expect(sql).toMatch(/limit/)
    if (isOnPostgres()) continue
    const plan = await rawDatabase(context.store.db).executeQuery(
      CompiledQuery.raw(`explain query plan ${sql}`, [...parameters]),
    )
    expect(JSON.stringify(plan.rows)).toMatch(/USING (COVERING )?INDEX redirect_uris_by_origin/)
    expect(JSON.stringify(plan.rows)).not.toMatch(/SCAN client_redirect_uris/)
  }
})
