import {
  createAuthConfig,
  createSession,
  encryptedStorage,
  exchangeCode,
  isAgentAuthError,
  memoryStorage,
  readCallback,
  type Session,
  startLogin,
} from 'agent-auth'
import type { Service } from 'agent-service'
import type { CallbackListener } from './callback-listener.ts'
import { createFormBrowser } from './form-browser.ts'
import { fingerprint, type Narrator } from './narrator.ts'

/** What every step of the demo uses. */
export interface Stage {
  readonly narrator: Narrator
  readonly service: Service
  readonly listener: CallbackListener
}

/** Runs one login, and returns the session that it started. */
export async function logIn({ narrator, service, listener }: Stage, kind: 'public' | 'confidential'): Promise<Session> {
  const client = pick(service.clients, (candidate) => candidate.kind === kind)
  const account = pick(service.people, ({ tenant }) => tenant === client.tenant)
  const watched = narrator.watch(fetch)
  const config = createAuthConfig({
    authUrl: service.authUrl,
    baseUrl: service.baseUrl,
    clientId: client.clientId,
    clientSecret: client.clientSecret,
    redirectUri: listener.redirectUri,
    fetch: watched,
  })

  narrator.step(`Build the authorize URL (${kind} client, state and S256 challenge)`)
  const { url, pending } = await startLogin(config, { returnTo: '/agents?page=2' })
  narrator.line(`verifier ${fingerprint(pending.codeVerifier)} stays here; its SHA-256 is sent as the challenge`)

  narrator.step(`${account.name} signs in and approves, page by page`)
  const callback = await createFormBrowser(watched, account).signInAndApprove(url, listener.redirectUri)

  narrator.step('Check the callback')
  expectRefusal(narrator, () => readCallback(pending, callback.replace('state=', 'state=x')))
  const grant = readCallback(pending, callback)
  narrator.line(`state matches; the user returns to ${grant.returnTo}`)

  narrator.step('Exchange the code by form post')
  const tokens = await exchangeCode(config, grant)
  narrator.line(
    `access token ${fingerprint(tokens.accessToken)}, valid for ${lifeSeconds(tokens)} s, refresh token ${fingerprint(tokens.refreshToken ?? '')}`,
  )

  narrator.step('Store the tokens, encrypted with AES-256-GCM')
  const key = { id: 'demo', key: crypto.getRandomValues(new Uint8Array(32)) }
  const session = createSession(config, { storage: encryptedStorage(memoryStorage(), { keys: [key] }), key: kind })
  await session.signIn(tokens)
  narrator.line(`session: ${session.state.status} as ${session.claims?.claims.name}`)
  return session
}

function expectRefusal(narrator: Narrator, check: () => unknown): void {
  try {
    check()
  } catch (error) {
    if (!isAgentAuthError(error)) throw error
    narrator.line(`a forged state is refused with ${error.code}`)
    return
  }
  throw new Error('A forged callback was accepted.')
}

function lifeSeconds({ expiresAtMs = 0, obtainedAtMs }: { expiresAtMs?: number; obtainedAtMs: number }): number {
  return Math.round((expiresAtMs - obtainedAtMs) / 1000)
}

function pick<T>(items: readonly T[], test: (item: T) => boolean): T {
  const found = items.find(test)
  if (!found) throw new Error('agent-service has no client or account of the kind that this demo needs.')
  return found
}
