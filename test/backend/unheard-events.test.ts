// The console line of a backend without onEvent: src/backend/unheard-events.ts.
import { afterEach, expect, test, vi } from 'vitest'
import { type BackendRig, guard, type RigOptions, searchPath } from '../support/backend-rig.ts'
import { rigOf } from '../support/rig-of.ts'

afterEach(() => vi.restoreAllMocks())

const loopback = 'http://127.0.0.1:3000/auth/callback'
const unreachable = (): never => {
  throw new TypeError('fetch failed')
}

/** Sends two calls to an API that gives no response, and returns what the console shows. */
async function linesOf(backend: NonNullable<RigOptions['backend']>): Promise<{ rig: BackendRig; lines: unknown[][] }> {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  const rig = await rigOf({ api: unreachable, backend })
  const browser = rig.browser()
  await browser.logIn()
  const headers = { ...guard, 'content-type': 'application/json' }
  for (let call = 0; call < 2; call += 1) {
    expect((await browser.send(searchPath, { method: 'POST', body: '{}', headers })).status).toBe(502)
  }
  return { rig, lines: warn.mock.calls }
}

test('on loopback without onEvent, the first failure is one line that names the origin and the option', async () => {
  const { rig, lines } = await linesOf({ redirectUri: loopback, onEvent: undefined })
  expect(lines).toEqual([
    [
      `agent-auth: proxied: ${rig.service.baseUrl} gave no response. Check that it runs, and baseUrl. Set onEvent to receive every event.`,
    ],
  ])
})

test('a user who denies the login is no line, because that is no fault of the setup', async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  const browser = (await rigOf({ backend: { redirectUri: loopback, onEvent: undefined } })).browser()
  const { pathname, searchParams } = await browser.goToCallback('/')
  const denied = `${pathname}?error=access_denied&state=${searchParams.get('state')}`
  expect((await browser.send(denied, {}, 'cross-site')).status).toBe(403)
  expect(warn.mock.calls).toEqual([])
})

test.each([
  ['an app that is not on loopback', { onEvent: undefined }],
  ['an app with onEvent', { redirectUri: loopback }],
])('%s prints nothing', async (_, backend) => {
  expect((await linesOf(backend)).lines).toEqual([])
})
