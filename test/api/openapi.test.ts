import { fileURLToPath } from 'node:url'
import type { Session } from 'agent-auth'
import { type Service, startService } from 'agent-service'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { sessionAt } from '../support/api-client.ts'

const recipe = fileURLToPath(new URL('../../docs/snippets/api-client/openapi.fixture.ts', import.meta.url))

/** The recipe, whose types exist in types.test.ts alone. */
interface Recipe {
  openApiClient(session: Session, baseUrl: string): object
  modelNames(api: object): Promise<string[]>
}

let service: Service
beforeAll(async () => {
  service = await startService({ dev: 'on', authPort: 0, basePort: 0 })
})
afterAll(() => service.close())

it('openapi-fetch sends with the token of a session, which is refreshed below it', async () => {
  const { openApiClient, modelNames } = (await import(/* @vite-ignore */ recipe)) as Recipe
  const api = openApiClient(await sessionAt(service, 'ada'), service.baseUrl)
  const names = await modelNames(api)
  expect(names).toContain('Aurora')
  await service.dev.expireAccessTokens()
  expect(await modelNames(api)).toEqual(names)
})
