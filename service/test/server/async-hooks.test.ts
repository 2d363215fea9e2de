import { AsyncLocalStorage } from 'node:async_hooks'
import { expect, test, vi } from 'vitest'
import { clientOf, login, refresh } from '../support/login.ts'
import { createService } from '../support/start.ts'

test('no page of a login, nor anything else in it, starts an AsyncLocalStorage: Node 20 would slow every promise', async () => {
  const service = await createService()
  const runs = vi.spyOn(AsyncLocalStorage.prototype, 'run')
  const enters = vi.spyOn(AsyncLocalStorage.prototype, 'enterWith')
  try {
    const { refresh_token } = await login(service)
    expect((await refresh(service, clientOf(service, 'Demo public'), refresh_token)).status).toBe(200)
    expect(runs).not.toHaveBeenCalled()
    expect(enters).not.toHaveBeenCalled()
  } finally {
    vi.restoreAllMocks()
    await service.close()
  }
})
