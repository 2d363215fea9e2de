import { readCallback } from '../../callback.ts'
import { AgentAuthError, isAgentAuthError } from '../../errors.ts'
import { exchangeCode } from '../../exchange.ts'
import type { Grant } from '../../grant.ts'
import { present } from '../../internal/present.ts'
import { decodeRecord, isRecord, sessionName } from '../../session/record.ts'
import { sessionStore } from '../../session/store.ts'
import { cookieLine } from '../cookies/cookies.ts'
import { findLogin, type LoginOnItsWay, removeLogin } from '../cookies/pending-login-cookie.ts'
import { findSession, sessionKey } from '../cookies/session-cookie.ts'
import { tokenEndpointCause } from '../error-cause.ts'
import type { LoginFailedEvent } from '../events.ts'
import { isPrefetch } from '../fetch-metadata.ts'
import { ignoreOwn } from '../ignore-own.ts'
import type { BackendContext } from '../options.ts'
import { errorPage, goOn } from '../pages.ts'
import { answer, statusOf } from '../responses.ts'
import { notNow } from './login.ts'
import { isCodeUnsent, type LoginAttempts } from './login-attempts.ts'

/** `GET {basePath}/callback`: checks the answer, gets the tokens, starts the session and goes on to where the person wanted. */
export async function callback(context: BackendContext, attempts: LoginAttempts, request: Request): Promise<Response> {
  if (isPrefetch(request)) return notNow()
  const startedMs = context.config.clock.monotonicMs()
  const url = new URL(request.url)
  const [state = ''] = /^[\w.~-]{22,512}$/.exec(url.searchParams.get('state') ?? '') ?? []
  const login = state ? await findLogin(context, request, state) : undefined
  try {
    if (!login) return await withoutLogin(context, request)
    // Resolved against the redirect URI: the host a request names is never looked at.
    const grant = readCallback(login.pending, url.pathname + url.search, { nowMs: context.config.clock.wallMs() })
    await attempts.run(state, () => finish(context, login, grant))
    await endOthers(context, request, login)
    context.emit({ type: 'login_finished', durationMs: context.config.clock.monotonicMs() - startedMs })
    const cookies = [cookieLine(context.sessionCookie, login.id), removeLogin(context, state)]
    return goOn(grant.returnTo ?? '/', { cookies })
  } catch (error) {
    if (!isAgentAuthError(error)) throw error
    return notFinished(context, error, { state, login })
  }
}

/** One exchange and one session per login, across all processes: whoever comes second finds the session there. */
async function finish(context: BackendContext, { id }: LoginOnItsWay, grant: Grant): Promise<void> {
  const { config, sessions, live } = context
  const key = await sessionKey(context, id)
  const name = sessionName(config, key)
  // Not the lock of the record, which the sign-in itself takes.
  await sessionStore(sessions, `${name}:login`).locked(() =>
    live.use(key, async ({ session, records }) => {
      // Also finds out, before the code is spent, whether the store answers.
      const { status, reason } = await session.ready()
      if (status === 'signed-in' || reason === 'expired') return
      const tokens = await exchangeCode(config, grant)
      await session.signIn(tokens)
      // A write reported as failed may have taken effect: the session must know, or it would undo a logout elsewhere.
      await session.resume()
      // So only what it has written or read itself counts. Where it could not read, the code is spent all the same: this must
      // not look like a store that failed before.
      if (isRecord(decodeRecord(name, records.last))) return
      await session.signOut().catch(ignoreOwn)
      throw new AgentAuthError('storage_failed', 'The new session could not be saved. Sign in again.')
    }),
  )
}

/** A session that was there before must not outlive the new login. */
async function endOthers(context: BackendContext, request: Request, { id, replaces }: LoginOnItsWay): Promise<void> {
  const { key } = await findSession(context, request)
  const own = await sessionKey(context, id)
  for (const old of new Set([replaces, key]))
    if (old !== undefined && old !== own)
      await context.live.use(old, ({ session }) => session.signOut()).catch(ignoreOwn)
}

/** A callback that was opened again finds the session it made; any other stray one changes nothing. */
async function withoutLogin(context: BackendContext, request: Request): Promise<Response> {
  const { key } = await findSession(context, request)
  const state = key && (await context.live.use(key, ({ session }) => session.ready()))
  if (state && state.status === 'signed-in') return goOn('/', {})
  throw new AgentAuthError(
    'flow_not_found',
    'No login was started in this browser at this address (localhost and 127.0.0.1 are two), or it took over ten minutes.',
  )
}

function notFinished(
  context: BackendContext,
  error: AgentAuthError,
  { state, login }: { state: string; login: LoginOnItsWay | undefined },
): Response {
  const { code, details } = error
  // What is no code may be any text of the callback's URL.
  const [reason] = /^[a-z_]{1,64}$/.exec(details?.error ?? '') ?? []
  const cause = tokenEndpointCause(context.config, error)
  context.emit(present<LoginFailedEvent>({ type: 'login_failed', code, error: reason, cause }))
  // Where the code was not sent, loading the page again may succeed.
  const cookies = state && !isCodeUnsent(error) ? [removeLogin(context, state)] : []
  const back = details?.returnTo ?? login?.pending.returnTo ?? '/'
  if (context.errorPath)
    return answer(null, { status: 303, headers: { location: `${context.errorPath}?code=${code}` }, cookies })
  const again = `${context.basePath}/login?return_to=${encodeURIComponent(back)}`
  return errorPage(messageOf(context, error), code, again, { status: statusOfLogin(code), cookies })
}

/** For the developer who has mixed up two clients: the token endpoint does not say which kind a client is of. */
function messageOf({ config }: BackendContext, { message, details }: AgentAuthError): string {
  if (details?.error !== 'invalid_client') return message
  return config.clientKind === 'confidential'
    ? `${message} If clientId names a public client, remove clientSecret: a public client has no secret.`
    : `${message} If clientId names a confidential client, set clientSecret.`
}

function statusOfLogin(code: AgentAuthError['code']): number {
  if (code === 'login_denied') return 403
  if (code === 'exchange_interrupted') return 503
  return /^(flow_|state_|issuer_|callback_|login_|grant_|already_)/.test(code) ? 400 : statusOf(code)
}
