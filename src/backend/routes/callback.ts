import { isState } from '../../authorize.ts'
import { acceptCallback } from '../../callback.ts'
import { readClaims } from '../../claims.ts'
import { AgentAuthError, isAgentAuthError } from '../../errors.ts'
import { exchangeCode } from '../../exchange.ts'
import type { Grant } from '../../grant.ts'
import type { Clock } from '../../internal/clock.ts'
import { maxLoginMs } from '../../internal/limits.ts'
import { throwBug } from '../../internal/timeouts.ts'
import { present } from '../../internal/values.ts'
import { isRecord, sessionName } from '../../session/record.ts'
import { sessionStore } from '../../session/store.ts'
import { createSession } from '../../session.ts'
import type { Tokens } from '../../tokens.ts'
import type { BackendContext } from '../context.ts'
import { cookieLine, readSessionCookie, sessionKey } from '../cookies.ts'
import { isPrefetch } from '../csrf.ts'
import { tokenEndpointCause } from '../error-cause.ts'
import type { LoginFailedEvent } from '../events.ts'
import { type PendingLoginCookie, pendingLoginRemoval, readPendingLogin } from '../login-cookie.ts'
import { createResponse, publicMessage, statusOf } from '../responses.ts'
import { continuePage, errorPage } from './callback-page.ts'
import { prefetchRefused } from './login.ts'

/** What one request of the callback found. */
interface CallbackLogin {
  readonly state: string
  readonly login: PendingLoginCookie | undefined
  readonly startedMs: number
}

/** `GET {basePath}/callback`: checks the callback, exchanges the code, starts the session and continues to the return URL. */
export async function callback(context: BackendContext, request: Request): Promise<Response> {
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
    const grant = acceptCallback(login.pending, url.pathname + url.search, clock.wallMs())
    await startOnce(context, login, grant)
    await endReplaced(context, request, login)
    context.emit({ type: 'login_finished', durationMs: clock.monotonicMs() - startedMs })
    const cookies = [cookieLine(context.sessionCookie, login.sessionId), pendingLoginRemoval(context, state)]
    return continuePage(grant.returnTo ?? '/', { cookies })
  } catch (error) {
    if (!isAgentAuthError(error)) throw error
    return failedLogin(context, error, { state, login, startedMs })
  }
}

/** Starts the session of a login. The callbacks of one login that are in progress share it, so that they send its code once. */
function startOnce(context: BackendContext, login: PendingLoginCookie, grant: Grant): Promise<void> {
  const { callbacks } = context
  const { state } = login.pending
  const start = callbacks.get(state) ?? startSession(context, login, grant).finally(() => callbacks.delete(state))
  callbacks.set(state, start)
  return start
}

/**
 * Exchanges the code and starts the session, once for each login in all processes: the lock is that of the login, and a second
 * callback finds the record.
 */
async function startSession(context: BackendContext, { sessionId }: PendingLoginCookie, grant: Grant): Promise<void> {
  const { config, live, sessions, onSignedIn } = context
  const key = await sessionKey(context, sessionId)
  const name = sessionName(config, key)
  const store = sessionStore(sessions, name)
  // A lock of its own, because the sign-in takes that of the record.
  const tokens = await sessionStore(sessions, `${name}:login`).locked(async () => {
    // If the storage does not respond, this rejects before the code is used.
    if (isRecord(await store.read())) return undefined
    const granted = await exchangeCode(config, grant)
    await save(context, key, granted)
    return granted
  })
  // From now on this process has the session in memory.
  await live.use(key, async ({ session }) => {
    await session.ready().catch(throwBug)
    try {
      if (tokens) await onSignedIn?.({ key, claims: readClaims(tokens) })
    } catch (error) {
      await session.signOut().catch(throwBug)
      throw error
    }
  })
}

async function save({ config, endings, sessions }: BackendContext, key: string, tokens: Tokens): Promise<void> {
  try {
    const notBeforeMs = await endings.notBeforeMs(tokens)
    const clock: Clock = {
      monotonicMs: () => config.clock.monotonicMs(),
      // Later than the endings before it, also if the clock of this machine is behind.
      wallMs: () => Math.max(config.clock.wallMs(), notBeforeMs + 1),
    }
    await createSession({ ...config, clock }, { storage: sessions, key }).signIn(tokens)
  } catch (error) {
    if (!isAgentAuthError(error)) throw error
    // Not retryable, because the code is used.
    throw new AgentAuthError('storage_failed', 'The new session could not be saved. Sign in again.')
  }
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
      await context.live.use(key, ({ session }) => session.signOut().catch(throwBug))
}

/** Continues if a user is signed in, for example after a reload of the callback. Otherwise it rejects with `flow_not_found`. */
async function withoutPendingLogin(context: BackendContext, request: Request): Promise<Response> {
  const { key } = await readSessionCookie(context, request)
  const state = key === undefined ? undefined : await context.live.use(key, ({ session }) => session.ready())
  if (state?.status === 'signed-in') return continuePage('/', {})
  // The cookie of a login at localhost does not reach 127.0.0.1.
  const where = context.isLocal ? `Open the app at ${context.origin} and at no other host. ` : ''
  throw new AgentAuthError(
    'flow_not_found',
    `${where}No matching login was found: it was finished, took over ${maxLoginMs / 60_000} minutes, or began in another browser or at another host. Sign in again.`,
  )
}

/** Reports the failure and returns its page, or the redirect to `errorPath`. The cookie stays if the callback can be loaded again. */
function failedLogin(
  context: BackendContext,
  error: AgentAuthError,
  { state, login, startedMs }: CallbackLogin,
): Response | Promise<Response> {
  const { code, details } = error
  // Text that does not look like a code may be any text of the callback's URL.
  const [reason] = /^[a-z_]{1,64}$/.exec(details?.error ?? '') ?? []
  const cause = tokenEndpointCause(error)
  const durationMs = context.config.clock.monotonicMs() - startedMs
  context.emit(present<LoginFailedEvent>({ type: 'login_failed', code, error: reason, durationMs, cause }))
  const cookies = state && !canLoadAgain(error) ? [pendingLoginRemoval(context, state)] : []
  if (context.errorPath)
    return createResponse(null, { status: 303, headers: { location: `${context.errorPath}?code=${code}` }, cookies })
  const returnTo = details?.returnTo ?? login?.pending.returnTo ?? '/'
  const loginUrl = `${context.basePath}/login?return_to=${encodeURIComponent(returnTo)}`
  const page = { code, message: publicMessage(error), isOpen: context.isLocal, loginUrl }
  return errorPage(page, { status: statusOf(code), cookies })
}

/** Returns whether the same callback can be loaded again: its code was not sent, and the failure may pass. */
function canLoadAgain({ code, retryable, details }: AgentAuthError): boolean {
  return retryable && (code === 'storage_failed' || code === 'lock_timeout' || details?.outcome === 'not_sent')
}
