import { DefaultQueryCompiler } from 'kysely'
import { expect, test, vi } from 'vitest'
import { clientOf, login, refresh } from '../support/login.ts'
import { createService } from '../support/start.ts'

test('a login of a new browser and a refresh compile no query that an earlier one compiled, because that takes longer than to run it', async () => {
  const service = await createService({ dev: 'on' })
  // After a minute a clean-up would come between, whose queries may be new.
  service.dev.freeze()
  const once = async (): Promise<void> => {
    const { refresh_token } = await login(service)
    expect((await refresh(service, clientOf(service, 'Demo public'), refresh_token)).status).toBe(200)
  }
  await once()
  const compile = vi.spyOn(DefaultQueryCompiler.prototype, 'compileQuery')
  try {
    await once()
    expect(compile.mock.results.map(({ value }) => value.sql)).toEqual([])
  } finally {
    compile.mockRestore()
    await service.close()
  }
})
