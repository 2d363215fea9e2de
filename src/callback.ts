import type { PendingLogin } from './authorize.ts'
import { checkAwaited, checkOptions, type OptionKinds } from './config/check-options.ts'
import { invalid } from './config/invalid.ts'
import { AgentAuthError, type AgentAuthErrorDetails } from './errors.ts'
import { createGrant, type Grant } from './grant.ts'
import { attempt } from './internal/attempt.ts'
import { systemClock } from './internal/clock.ts'
import { maxCodeLength, maxErrorLength, maxErrorTextLength, maxLoginMs } from './internal/limits.ts'
import { present } from './internal/plain-object.ts'
import { isTemporary, remedyFor } from './oauth-error-codes.ts'

const protocolNames = ['code', 'state', 'error', 'error_description', 'error_uri', 'iss'] as const
type Parameters = Partial<Record<(typeof protocolNames)[number], string>>

/** The options of `readCallback`. */
export interface ReadCallbackOptions {
  /** The wall clock in milliseconds. Default: the platform's. */
  readonly nowMs?: number | undefined
}

const optionKinds: OptionKinds<ReadCallbackOptions> = { nowMs: 'number' }

/**
 * Checks a callback against its PendingLogin and returns the Grant to exchange. Uses neither network nor storage. With
 * `pendingLogins`, a state that is not stored never gets here: `take` rejects with `flow_not_found`, or with `already_handled` if
 * it remembers that the login was taken. So `state_mismatch` needs a caller that keeps the PendingLogin itself. A relative URL is
 * resolved against the redirect URI. Throws `flow_not_found`, `flow_expired`, `callback_malformed`, `state_mismatch`,
 * `issuer_mismatch`, `login_denied` or `login_failed`, and `config_invalid` for another argument. A login is too old after
 * `maxLoginMs`, 10 minutes, and a code is refused if it is longer than `maxCodeLength`, 4,096 characters. RFC 6749 section 4.1.2,
 * RFC 9207 section 2.4.
 */
export function readCallback(
  pending: PendingLogin | null | undefined,
  url: string | URL,
  options: ReadCallbackOptions = {},
): Grant {
  const { nowMs = systemClock.wallMs() } = checkOptions('readCallback', options, optionKinds)
  checkAwaited('pending', pending)
  // An absent or damaged record is a login that is not found, and a value that no storage returns is a mistake in the call.
  if (pending != null && (typeof pending !== 'object' || pending instanceof URL || 'pending' in pending))
    invalid('pending, the first argument, must be the pending of await startLogin(config)')
  if (!isPendingLogin(pending)) throw loginNotFound()
  // The location of a page has an href as well.
  if (typeof url !== 'string' && !Object(url).href) invalid('url, the second argument, must be a string or URL')
  const parameters = protocolParameters(pending, url)
  if (!parameters.state && !parameters.code && !parameters.error)
    throw new AgentAuthError(
      'callback_malformed',
      'This URL has no code and no state, so it is no callback. Pass the whole URL with its query.',
    )
  if (parameters.state !== pending.state)
    throw new AgentAuthError('state_mismatch', 'This callback belongs to another login. Ignore it.')
  checkIssuer(pending, parameters.iss)
  if (nowMs - pending.createdAtMs > maxLoginMs)
    throw new AgentAuthError(
      'flow_expired',
      `The login took more than ${maxLoginMs / 60_000} minutes. Start the login again.`,
    )
  if (parameters.code && parameters.error) malformed('has both a code and an error')
  if (parameters.error) throw refusal(pending, parameters)
  const { code } = parameters
  if (!code || code.length > maxCodeLength) malformed('has no usable code')
  return createGrant({ pending, code, waiting: 0 })
}

/** Returns the error for a callback without a record of its login. */
export function loginNotFound(): AgentAuthError {
  return new AgentAuthError(
    'flow_not_found',
    'No login of this callback was found: it was finished before, is too old, or began elsewhere. Sign in again.',
  )
}

/** Returns whether a value is a pending login. Checks each member, because a storage can return any value. */
export function isPendingLogin(value: PendingLogin | null | undefined): value is PendingLogin {
  const { v, createdAtMs, ...texts } = value ?? ({} as Partial<PendingLogin>)
  const { state, codeVerifier, clientId, redirectUri = '', tokenEndpoint, issuer = 'any' } = texts
  const named = [state, codeVerifier, clientId, tokenEndpoint, issuer].every((text) => typeof text === 'string' && text)
  return v === 1 && named && Number.isFinite(createdAtMs) && attempt(() => new URL(redirectUri)) !== undefined
}

function protocolParameters({ redirectUri }: PendingLogin, url: string | URL): Parameters {
  const expected = new URL(redirectUri)
  const actual = attempt(() => new URL(url, expected))
  if (/^https?:/.test(actual?.protocol as string) && actual?.origin !== expected.origin)
    malformed(`is not on ${expected.origin}, as redirectUri is`, 'Open the app there.')
  if (actual?.origin !== expected.origin || actual.pathname !== expected.pathname)
    malformed(`is not at the redirect URI, whose path is ${expected.pathname}`)
  if (/[#&?](code|access_token|id_token)=/.test(actual.hash)) malformed('has its parameters in the fragment')
  const parameters: Parameters = {}
  for (const name of protocolNames) {
    const values = [...actual.searchParams].filter(([key]) => key === name || key.startsWith(`${name}[`))
    if (values.length > 1 || (values[0] && values[0][0] !== name)) malformed(`repeats ${name}`)
    if (values[0]?.[1]) parameters[name] = values[0][1]
  }
  return parameters
}

function checkIssuer({ issuer, issuerParameter }: PendingLogin, iss: string | undefined): void {
  if (issuer === undefined || iss === issuer || (iss === undefined && issuerParameter !== 'required')) return
  const cause =
    iss === undefined
      ? "has no iss, which issuerParameter: 'required' demands. Remove that option if the service sends none."
      : 'is not from the configured issuer. Check issuer.'
  throw new AgentAuthError('issuer_mismatch', `The callback ${cause}`)
}

/**
 * Returns the error of a callback that has one. Its details keep a part of the text (`maxErrorLength`, 64 characters of `error`, and
 * `maxErrorTextLength`, 512 of `error_description` and `error_uri`).
 */
function refusal({ returnTo }: PendingLogin, parameters: Parameters): AgentAuthError {
  const { error = '', error_description: description, error_uri: uri } = parameters
  const remedy = remedyFor(error)
  return new AgentAuthError(
    error === 'access_denied' ? 'login_denied' : 'login_failed',
    `The service refused the login: ${remedy ? `${error}. ${remedy}` : 'see details.error. Start the login again.'}`,
    {
      retryable: isTemporary(error),
      details: present<AgentAuthErrorDetails>({
        error: printable(error, maxErrorLength),
        errorDescription: description && printable(description, maxErrorTextLength),
        errorUri: uri && /^https?:/i.test(uri) ? printable(uri, maxErrorTextLength) : undefined,
        returnTo,
      }),
    },
  )
}

/** Keeps the characters of RFC 6749 section 4.1.2.1: no quotes, controls or direction marks. */
function printable(text: string, maxLength: number): string {
  return text.slice(0, maxLength).replace(/[^ !#-[\]-~]/g, '')
}

function malformed(what: string, remedy = 'Start the login again.'): never {
  throw new AgentAuthError('callback_malformed', `The callback ${what}. ${remedy}`)
}
