import { startService } from 'agent-service'
import { expect, it, onTestFinished } from 'vitest'
import { kyOf, modelNames } from '../../docs/snippets/api-client/ky.ts'
import { sessionAt } from '../support/api-client.ts'

it('ky sends with the token of a session, which is refreshed below it', async () => {
  const service = await startService({ dev: 'on' })
  onTestFinished(() => service.close())
  const session = await sessionAt(service, 'ada')
  const api = kyOf(session, service.baseUrl)
  const names = await modelNames(api)
  expect(names).toContain('Aurora')
  await service.dev.expireAccessTokens()
  expect(await modelNames(api)).toEqual(names)
})
