import { isAgentAuthError, type TokenStorage } from 'agent-auth'
import { expect, test } from 'vitest'
import { sessionRig } from '../support/session-rig.ts'
import { sharedRecords } from '../support/shared-records.ts'
import { json } from '../support/token-service.ts'
import { virtualTime } from '../support/virtual-time.ts'

const hourMs = 3_600_000
const broken = new DOMException('The operation failed.', 'UnknownError')

/** Runs a whole life of a session and returns what its calls reject with. */
async function life(storage: TokenStorage, answer: () => Response): Promise<unknown[]> {
  const time = virtualTime()
  const { service, realm } = sessionRig(time.clock)
  const { session } = realm({ storage })
  service.usually(answer)
  const errors: unknown[] = []
  const attempt = async (work: () => Promise<unknown>): Promise<void> => {
    await time.until(work().catch((error: unknown) => errors.push(error)))
  }
  await attempt(() => session.ready())
  await attempt(() => session.signIn(service.issue()))
  await time.pass(hourMs)
  await attempt(() => session.getAccessToken())
  await time.pass(60_000)
  await attempt(() => session.resume())
  await attempt(() => session.getAccessToken({ forceRefresh: true }))
  await attempt(() => session.signOut())
  return errors
}

const ok = (): Response => json(200, { access_token: 'next-access', refresh_token: 'next-refresh', expires_in: 3_600 })

/** How many operations of the storage a life has in which all goes well. */
async function operations(): Promise<number> {
  let count = 0
  await life(sharedRecords().handle({ fault: () => void count++ }), ok)
  return count
}

test('whichever operation of the storage fails, once or from then on, calls reject with codes of the library only', async () => {
  const count = await operations()
  expect(count).toBeGreaterThan(5)
  for (let failing = 0; failing < count; failing++)
    for (const extent of ['once', 'from then on'] as const) {
      let operation = 0
      const fault = (): void => {
        const isHit = extent === 'once' ? operation === failing : operation >= failing
        operation += 1
        if (isHit) throw broken
      }
      const errors = await life(sharedRecords().handle({ fault }), ok)
      expect(errors.filter((error) => !isAgentAuthError(error))).toEqual([])
    }
})

test.each([
  [
    'a network error',
    (): never => {
      throw new TypeError('fetch failed')
    },
  ],
  [
    'a raw abort',
    (): never => {
      throw new DOMException('Aborted.', 'AbortError')
    },
  ],
  [
    'a thrown text',
    (): never => {
      throw 'unusual'
    },
  ],
  ['a page', () => new Response('<html>', { status: 200, headers: { 'content-type': 'text/html' } })],
  ['a refusal', () => json(400, { error: 'invalid_grant' })],
  ['no object', () => json(200, 7)],
] as const)('with %s in place of tokens, calls reject with codes of the library only', async (_, answer) => {
  const errors = await life(sharedRecords().handle(), answer)
  expect(errors).not.toEqual([])
  expect(errors.filter((error) => !isAgentAuthError(error))).toEqual([])
})
