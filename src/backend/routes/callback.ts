import { isState } from '../../authorize.ts'
import { readCallback } from '../../callback.ts'
import { isLoopback } from '../../config/service-url.ts'
import { AgentAuthError, isAgentAuthError } from '../../errors.ts'
import { exchangeCode } from '../../exchange.ts'
import type { Grant } from '../../grant.ts'
import { maxLoginMs } from '../../internal/limits.ts'
import { present } from '../../internal/plain-object.ts'
import { succeedsOrThrowsBug } from '../../internal/timeouts.ts'
import { decodeRecord, isRecord, sessionName } from '../../session/record.ts'
import { sessionStore } from '../../session/store.ts'
import type { BackendContext } from '../context.ts'
import { cookieLine } from '../cookies/cookie-attributes.ts'
import { type PendingLoginCookie, pendingLoginRemoval, readPendingLogin } from '../cookies/pending-login-cookie.ts'
import { readSessionCookie, sessionKey } from '../cookies/session-cookie.ts'
import { tokenEndpointCause } from '../error-cause.ts'
import type { LoginFailedEvent } from '../events.ts'
import { isPrefetch } from '../page-loads.ts'
import { createResponse, publicMessage } from '../responses.ts'
import { pageStatusOf } from '../statuses.ts'
import { continuePage, errorPage } from './callback-page.ts'
import { prefetchRefused } from './login.ts'
import { canLoadAgain, type SharedCallbacks } from './shared-callbacks.ts'

/** `GET {basePath}/callback`: checks the callback, exchanges the code, starts the session and continues to the return URL. */
export async function callback(context: BackendContext, shared: SharedCallbacks, request: Request): Promise<Response> {
  if (isPrefetch(request)) return prefetchRefused()
  const { clock } = context.config
  const startedMs = clock.monotonicMs()
  const url = new URL(request.url)
  const stateParameter = url.searchParams.get('state') ?? ''
  // Other text is the state of no login, and could name another cookie.
  const state = isState(stateParameter) ? stateParameter : ''
  const login = state ? await readPendingLogin(context, request, state) : undefined
  try {
    if (!login) return await withoutPendingLogin(context, request)
    // The path is resolved against the redirect URI, because the host that a request names is not trusted.
    const grant = readCallback(login.pending, url.pathname + url.search, { nowMs: clock.wallMs() })
    await shared.run(state, () => startSession(context, login, grant))
    await endReplaced(context, request, login)
    context.emit({ type: 'login_finished', durationMs: clock.monotonicMs() - startedMs })
    const cookies = [cookieLine(context.sessionCookie, login.sessionId), pendingLoginRemoval(context, state)]
    return continuePage(grant.returnTo ?? '/', { cookies })
  } catch (error) {
    if (!isAgentAuthError(error)) throw error
    return failedLogin(context, error, { state, login, durationMs: clock.monotonicMs() - startedMs })
  }
}

/**
 * Exchanges the code and starts the session, once for each login in all processes: the lock is that of the login, and a second
 * callback finds the session.
 */
async function startSession(context: BackendContext, { sessionId }: PendingLoginCookie, grant: Grant): Promise<void> {
  const { config, endings, live } = context
  const key = await sessionKey(context, sessionId)
  const name = sessionName(config, key)
  await underLoginLock(context, name, () =>
    live.use(key, async ({ session, observed, signInAs }) => {
      // If the storage does not respond, this rejects before the code is used.
      const { status, reason } = await session.ready()
      // `expired`: an earlier callback of this login used the code, and its access token has expired since.
      if (status === 'signed-in' || reason === 'expired') return
      const tokens = await exchangeCode(config, grant)
      const signInId = await endings.signInId(tokens).catch(() => {
        throw notSaved()
      })
      await signInAs(signInId, tokens)
      // The state is `signed-in` even if the save failed, so `resume` reads the storage, for two reasons. It shows whether
      // the record is there: `observed.lastSeen` is then what the read returned. A record can only be that of this login, because no other
      // login has this key. And it lets a session whose failed write took effect later count as saved. Such a session would otherwise write
      // its record again, even after a logout in another process.
      await session.resume()
      if (isRecord(decodeRecord(name, observed.lastSeen))) return
      await succeedsOrThrowsBug(() => session.signOut())
      throw notSaved()
    }),
  )
}

/** Makes the error of a session that was not saved. It is not retryable, because the code is used. */
function notSaved(): AgentAuthError {
  return new AgentAuthError('storage_failed', 'The new session could not be saved. Sign in again.')
}

/** Runs the task under a lock of its own, because a sign-in in the task takes the lock of the record itself. */
function underLoginLock({ sessions }: BackendContext, name: string, task: () => Promise<void>): Promise<void> {
  return sessionStore(sessions, `${name}:login`).locked(task)
}

/** Ends the sessions that the browser had when the login began and has now. */
async function endReplaced(
  context: BackendContext,
  request: Request,
  { sessionId, replacedKey }: PendingLoginCookie,
): Promise<void> {
  const { key: current } = await readSessionCookie(context, request)
  const started = await sessionKey(context, sessionId)
  for (const key of new Set([replacedKey, current]))
    if (key !== undefined && key !== started)
      await context.live.use(key, ({ session }) => succeedsOrThrowsBug(() => session.signOut()))
}

/** Continues if a user is signed in, for example after a reload of the callback. Otherwise it rejects with `flow_not_found`. */
async function withoutPendingLogin(context: BackendContext, request: Request): Promise<Response> {
  const { key } = await readSessionCookie(context, request)
  const state = key === undefined ? undefined : await context.live.use(key, ({ session }) => session.ready())
  if (state?.status === 'signed-in') return continuePage('/', {})
  throw new AgentAuthError(
    'flow_not_found',
    `No matching login was found: it was finished, took over ${maxLoginMs / 60_000} minutes, or began in another browser or at another host (localhost is not 127.0.0.1). Sign in again.`,
  )
}

/** Reports the failure and returns its page, or the redirect to `errorPath`. The cookie stays if the callback can be loaded again. */
function failedLogin(
  context: BackendContext,
  error: AgentAuthError,
  { state, login, durationMs }: { state: string; login: PendingLoginCookie | undefined; durationMs: number },
): Response | Promise<Response> {
  const { code, details } = error
  // Text that does not look like a code may be any text of the callback's URL.
  const [reason] = /^[a-z_]{1,64}$/.exec(details?.error ?? '') ?? []
  const cause = tokenEndpointCause(error)
  context.emit(present<LoginFailedEvent>({ type: 'login_failed', code, error: reason, durationMs, cause }))
  // If the code was not sent, loading the page again may succeed, which needs the cookie.
  const cookies = state && !canLoadAgain(error) ? [pendingLoginRemoval(context, state)] : []
  if (context.errorPath)
    return createResponse(null, { status: 303, headers: { location: `${context.errorPath}?code=${code}` }, cookies })
  const returnTo = details?.returnTo ?? login?.pending.returnTo ?? '/'
  const loginUrl = `${context.basePath}/login?return_to=${encodeURIComponent(returnTo)}`
  const page = { code, message: messageOf(context, error), isOpen: isLocal(context), loginUrl }
  return errorPage(page, { status: pageStatusOf(code), cookies })
}

/** Returns whether the app is on loopback, where the user is its developer. */
function isLocal({ origin }: BackendContext): boolean {
  return isLoopback(new URL(origin).hostname)
}

/**
 * Returns the message for the browser. If the token endpoint refused an id or secret with special characters, it adds the other value
 * of `basicEncoding`. On loopback it adds the address of the app to `flow_not_found`, because the cookie of a login at localhost does
 * not reach 127.0.0.1.
 */
function messageOf(context: BackendContext, error: AgentAuthError): string {
  const { config, origin, otherBasicEncoding } = context
  const message = publicMessage(error)
  if (error.code === 'flow_not_found' && isLocal(context))
    return `Open the app at ${origin} and at no other host. ${message}`
  const isSecretRefused = error.details?.error === 'invalid_client' && config.clientKind === 'confidential'
  if (!isSecretRefused || !otherBasicEncoding) return message
  return `${message} The id or secret has special characters: if both are right, set basicEncoding to '${otherBasicEncoding}'.`
}
