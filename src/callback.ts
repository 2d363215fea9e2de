import { AuthorizationResponseError, validateAuthResponse } from 'oauth4webapi'
import type { PendingLogin } from './authorize.ts'
import { AgentAuthError, type AgentAuthErrorCode, type AgentAuthErrorDetails } from './errors.ts'
import { createGrant, type Grant } from './grant.ts'
import { systemClock } from './internal/clock.ts'
import { maxLoginMs } from './internal/limits.ts'
import { attempt, checkAwaited, checkNames, ownMembers, present } from './internal/values.ts'
import { isTemporary, remedyFor } from './oauth-error-codes.ts'

/** The parameters of a callback. RFC 6749 section 4.1.2, RFC 9207. */
export const protocolNames: readonly string[] = ['code', 'state', 'error', 'error_description', 'error_uri', 'iss']

const maxCodeLength = 4_096
/** How much of `error`, and of `error_description` and `error_uri`, an error keeps, in characters. */
const maxErrorLength = 64
const maxErrorTextLength = 512

/** The options of `readCallback`. */
export interface ReadCallbackOptions {
  /** The wall clock in milliseconds. Default: the platform's. */
  readonly nowMs?: number | undefined
}

/**
 * Checks a callback against its PendingLogin and returns the Grant to exchange. Uses neither network nor storage. A relative URL is
 * resolved against the redirect URI. Throws `flow_not_found`, `flow_expired`, `callback_malformed`, `state_mismatch`,
 * `issuer_mismatch`, `login_denied`, `login_failed` or `config_invalid`. RFC 6749 section 4.1.2, RFC 9207 section 2.4.
 */
export function readCallback(
  pending: PendingLogin | null | undefined,
  url: string | URL,
  options: ReadCallbackOptions = {},
): Grant {
  const { nowMs = systemClock.wallMs() } = checkNames('readCallback', options, ['nowMs'])
  checkAwaited('pending', pending)
  return acceptCallback(pending, url, nowMs)
}

/** Does the work of `readCallback` for callers within the library. */
export function acceptCallback(pending: PendingLogin | null | undefined, url: string | URL, nowMs: number): Grant {
  const login = ownMembers(pending)
  if (!isPendingLogin(login)) throw loginNotFound()
  const parameters = protocolParameters(login, url)
  const accepted = validated(login, parameters)
  // A time that is no number counts as too late.
  if (!(nowMs - login.createdAtMs <= maxLoginMs))
    throw failed(login, 'flow_expired', 'The login took too long. Start the login again.')
  const code = parameters.get('code') ?? ''
  if (accepted ? !code || code.length > maxCodeLength : code)
    throw failed(login, 'callback_malformed', 'The callback cannot be used. Start the login again.')
  if (!accepted) throw refusal(login, parameters)
  return createGrant({ pending: login, parameters: accepted, waiting: 0 })
}

/** Returns the error for a callback without a record of its login. */
export function loginNotFound(): AgentAuthError {
  return new AgentAuthError(
    'flow_not_found',
    'The login of this callback is finished, too old, or began elsewhere. Sign in again.',
  )
}

/** Returns whether a value is a pending login. Checks each member, because a storage can return any value. */
export function isPendingLogin(value: Partial<PendingLogin> | null | undefined): value is PendingLogin {
  const { v, createdAtMs, ...texts } = ownMembers(value)
  const { state, codeVerifier, clientId, redirectUri = '', tokenEndpoint, issuer = 'any' } = texts
  const named = [state, codeVerifier, clientId, tokenEndpoint, issuer].every((text) => typeof text === 'string' && text)
  return v === 1 && named && Number.isFinite(createdAtMs) && attempt(() => new URL(redirectUri)) !== undefined
}

/** Returns the parameters of the protocol of a callback at the redirect URI, which can have parameters of its own. */
function protocolParameters({ redirectUri }: PendingLogin, url: string | URL): URLSearchParams {
  const expected = new URL(redirectUri)
  const actual = attempt(() => new URL(url, expected))
  if (actual?.origin !== expected.origin || actual.pathname !== expected.pathname)
    malformed(`is not at ${expected.origin}${expected.pathname}, the redirectUri`, 'Open the app there.')
  const parameters = new URLSearchParams([...actual.searchParams].filter(([name]) => protocolNames.includes(name)))
  const isEmpty = !['code', 'error', 'state'].some((name) => parameters.get(name))
  if (isEmpty || /[#&?](code|access_token|id_token)=/.test(actual.hash))
    malformed('has no code and no state in its query', 'Pass the whole URL.')
  const repeated = protocolNames.find((name) => parameters.getAll(name).length > 1)
  if (repeated) malformed(`repeats ${repeated}`)
  return parameters
}

/** Returns what can be exchanged, or undefined if the service refused the login. Throws for a callback of another login. */
function validated(login: PendingLogin, parameters: URLSearchParams): URLSearchParams | undefined {
  const { clientId, issuer, issuerParameter, state, tokenEndpoint } = login
  const server = {
    // Without a configured issuer, any `iss` is right.
    issuer: issuer ?? (parameters.get('iss') || tokenEndpoint),
    authorization_response_iss_parameter_supported: issuer !== undefined && issuerParameter === 'required',
  }
  try {
    return validateAuthResponse(server, { client_id: clientId }, parameters, state)
  } catch (error) {
    // Replaced, because it holds the parameters.
    if (parameters.get('state') !== state)
      throw new AgentAuthError('state_mismatch', 'The callback is cut off, or of another login. Start the login again.')
    if (error instanceof AuthorizationResponseError) return undefined
    throw failed(login, 'issuer_mismatch', 'The callback has another iss, or none. Check issuer and issuerParameter.')
  }
}

/** Returns the error for a callback of this login, with the return URL that the next login should have. */
function failed({ returnTo }: PendingLogin, code: AgentAuthErrorCode, message: string): AgentAuthError {
  return new AgentAuthError(code, message, { details: present<AgentAuthErrorDetails>({ returnTo }) })
}

/** Returns the error of a callback with an `error`. Its details keep a part of the texts. */
function refusal({ returnTo }: PendingLogin, parameters: URLSearchParams): AgentAuthError {
  /** Keeps the characters of RFC 6749 section 4.1.2.1: no quotes, controls or direction marks. */
  const printable = (name: string, maxLength: number): string | undefined =>
    parameters
      .get(name)
      ?.slice(0, maxLength)
      .replace(/[^ !#-[\]-~]/g, '') || undefined
  const error = printable('error', maxErrorLength) ?? ''
  const errorUri = printable('error_uri', maxErrorTextLength) ?? ''
  const remedy = remedyFor(error)
  return new AgentAuthError(
    error === 'access_denied' ? 'login_denied' : 'login_failed',
    `The service refused the login: ${remedy ? `${error}. ${remedy}` : 'see details.error. Start the login again.'}`,
    {
      retryable: isTemporary(error),
      details: present<AgentAuthErrorDetails>({
        error,
        errorDescription: printable('error_description', maxErrorTextLength),
        errorUri: /^https?:/i.test(errorUri) ? errorUri : undefined,
        returnTo,
      }),
    },
  )
}

function malformed(what: string, remedy = 'Start the login again.'): never {
  throw new AgentAuthError('callback_malformed', `The callback ${what}. ${remedy}`)
}
