import { memoryStorage } from 'agent-auth'
import { createBackend } from 'agent-auth/backend'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { appOrigin, secrets } from '../support/backend-rig.ts'
import { json } from '../support/token-flow.ts'

interface Started {
  readonly cookie: string
  readonly callback: string
}

const refusal = () => json({ error: 'invalid_grant' }, { status: 400 })
let answer: () => Response
let sent: number
let start: () => Promise<Started>
/** The callback page as the browser loads it, with the cookie that a reload still may have. */
let load: (login: Started) => Promise<number | undefined>
beforeEach(() => {
  answer = refusal
  sent = 0
  const backend = createBackend({
    authUrl: 'https://auth.example.com',
    baseUrl: 'https://api.example.com',
    clientId: 'app',
    redirectUri: `${appOrigin}/auth/callback`,
    sessions: memoryStorage(),
    secrets,
    fetch: async () => {
      sent += 1
      return answer()
    },
  })
  start = async () => {
    const response = await backend.handle(new Request(`${appOrigin}/auth/login`))
    const state = new URL(response?.headers.get('location') ?? '').searchParams.get('state')
    const [cookie = ''] = response?.headers.getSetCookie()[0]?.split(';') ?? []
    return { cookie, callback: `${appOrigin}/auth/callback?code=c&state=${state}` }
  }
  load = async ({ cookie, callback }) => (await backend.handle(new Request(callback, { headers: { cookie } })))?.status
})

afterEach(() => vi.restoreAllMocks())

test('callbacks of one login that arrive in the same moment send its code once, also if the service refuses it', async () => {
  const login = await start()
  // As on a platform that decrypts without a thread of its own: all go on in the same microtask.
  const decrypt = crypto.subtle.decrypt.bind(crypto.subtle)
  let decrypted: Promise<ArrayBuffer> | undefined
  vi.spyOn(crypto.subtle, 'decrypt').mockImplementation((...input) => (decrypted ??= decrypt(...input)))
  expect(await Promise.all(Array.from({ length: 8 }, () => load(login)))).toEqual(Array(8).fill(400))
  expect(sent).toBe(1)
})
