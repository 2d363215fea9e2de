// Checked by the compiler only: a line under `@ts-expect-error` that compiles is an error.
import {
  type AuthConfig,
  createAuthConfig,
  exchangeCode,
  type Grant,
  type PendingLogin,
  readCallback,
  startLogin,
  type Tokens,
} from 'agent-auth'

declare const config: AuthConfig
declare const pending: PendingLogin

/** A Grant comes from readCallback and from nowhere else. */
export const checked: Grant = readCallback(pending, 'https://app.example.com/callback?code=c&state=s')
export const exchanged: Promise<Tokens> = exchangeCode(config, checked)

export const forged: Grant[] = [
  // @ts-expect-error: an empty object has no brand
  {},
  // @ts-expect-error: nor has one that looks like it
  { returnTo: '/' },
  // @ts-expect-error: nor a copy of a real one's visible members
  { returnTo: checked.returnTo ?? '/' },
]

export function exchanges(): Promise<Tokens>[] {
  return [
    // @ts-expect-error: a bare code was never checked
    exchangeCode(config, 'code'),
    // @ts-expect-error: nor was a code beside its state
    exchangeCode(config, { code: 'c', state: 's' }),
    // @ts-expect-error: the login before its callback is no Grant
    exchangeCode(config, pending),
  ]
}

/** S256 is the only challenge method: there is no name under which another could be chosen. */
export async function starts(): Promise<void> {
  await startLogin(config, { returnTo: '/', params: { prompt: 'login' }, state: 'x'.repeat(43) })
  // @ts-expect-error: no method option
  await startLogin(config, { codeChallengeMethod: 'plain' })
  // @ts-expect-error: nor under its name in the protocol
  await startLogin(config, { code_challenge_method: 'plain' })
  // @ts-expect-error: nor can PKCE be switched off
  await startLogin(config, { pkce: false })
}

const options = {
  authUrl: 'https://auth.example.com',
  baseUrl: 'https://api.example.com',
  clientId: 'app',
  redirectUri: 'https://app.example.com/callback',
}

export const configs: AuthConfig[] = [
  createAuthConfig(options),
  createAuthConfig({ ...options, clientSecret: 'secret', dialect: 'standard' }),
  // @ts-expect-error: no method option
  createAuthConfig({ ...options, codeChallengeMethod: 'plain' }),
  // @ts-expect-error: nor is plain a dialect
  createAuthConfig({ ...options, dialect: 'plain' }),
  // @ts-expect-error: a configuration comes from createAuthConfig
  options,
]
