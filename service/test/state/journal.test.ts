import { expect, onTestFinished, test } from 'vitest'
import { createClock, createJournal } from '../../src/state.ts'
import { authorizeUrl, Browser, clientOf, consentPath, personOf, signInPath } from '../support/login.ts'
import { exchangeBytes } from '../support/raw-socket.ts'
import { createService, startService } from '../support/start.ts'

test('the journal keeps the last 10,000 entries, in order', () => {
  let nowMs = 0
  const journal = createJournal(createClock(() => nowMs))
  for (nowMs = 1; nowMs <= 25_500; nowMs++) journal.event('consent_approved')
  const entries = journal.entries()
  expect(entries.map(({ atMs }) => atMs)).toEqual(Array.from({ length: 10_000 }, (_, index) => 15_501 + index))
})

test('the journal holds no fragment of a request target', async () => {
  const service = await startService()
  onTestFinished(service.close)
  await exchangeBytes(service.authUrl, ['GET /a#secret HTTP/1.1', `Host: ${new URL(service.authUrl).host}`])
  const paths = service.dev.journal().flatMap((entry) => ('path' in entry ? [entry.path] : []))
  expect(paths).toEqual(['/a'])
})

test('each request of a login names its client, and its user once one is signed in', async () => {
  const service = await createService()
  onTestFinished(service.close)
  const browser = new Browser(service.fetch)
  const { url } = authorizeUrl(service)
  const { email, password } = personOf(service, 'ada')
  const refused = await browser.submit(await browser.get(url), signInPath, { email, password: 'wrong-password' })
  const consent = await browser.submit(refused, signInPath, { email, password })
  await browser.submit(consent, consentPath, { decision: 'deny' })
  service.dev.autoApprove(email)
  await new Browser(service.fetch).get(url)
  const requests = service.dev.journal().filter((entry) => entry.kind === 'request')
  const { clientId } = clientOf(service, 'Demo public')
  const personId = expect.stringMatching(/^person_/)
  expect(requests.map(({ path, status, clientId, personId }) => ({ path, status, clientId, personId }))).toEqual([
    { path: '/auth/v1/authorize', status: 200, clientId },
    { path: signInPath, status: 403, clientId },
    { path: signInPath, status: 200, clientId, personId },
    { path: consentPath, status: 303, clientId, personId },
    { path: '/auth/v1/authorize', status: 302, clientId, personId },
  ])
})
