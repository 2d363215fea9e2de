import { allowInsecureRequests, type ClientAuth, customFetch, revocationRequest } from 'oauth4webapi'
import { withDeadline } from '../deadline.ts'
import { discardBody } from '../discard-body.ts'
import { isAgentAuthError } from '../errors.ts'
import { isRecord, sessionName } from '../session/record.ts'
import { sessionStore } from '../session/store.ts'
import { failed, failedWith, json } from './answers.ts'
import { cookieLine } from './cookies.ts'
import type { BackendContext } from './options.ts'
import { isGuarded } from './same-origin.ts'
import { findSession } from './session-cookie.ts'

const revocationLimitMs = 2_000

/** `POST {basePath}/logout`: the session goes first, then the cookie; revoking the token may fail. RFC 7009. */
export async function logout(context: BackendContext, request: Request): Promise<Response> {
  if (!isGuarded(request, context.origin))
    return failed(403, {
      code: 'origin_forbidden',
      message: 'Logout needs the header x-agent-auth: 1, from this origin.',
    })
  const { key } = await findSession(context, request)
  const cookies = [cookieLine(context.sessionCookie)]
  if (key !== undefined) {
    const refreshToken = context.revocationEndpoint && (await refreshTokenOf(context, key))
    try {
      await context.live.use(key, (live) => live.session.signOut())
    } catch (error) {
      if (!isAgentAuthError(error)) throw error
      return failedWith(error, cookies)
    }
    const revocation = refreshToken ? await revoke(context, refreshToken) : 'off'
    context.emit({ type: 'logged_out', revocation })
  }
  return json({ status: 'signed-out' }, { cookies })
}

async function refreshTokenOf({ config, sessions }: BackendContext, key: string): Promise<string | undefined> {
  try {
    const stored = await sessionStore(sessions, sessionName(config, key)).read()
    return isRecord(stored) ? stored.tokens.refreshToken : undefined
  } catch {
    return undefined
  }
}

async function revoke({ config, revocationEndpoint }: BackendContext, token: string): Promise<'done' | 'failed'> {
  const { authUrl, clientId } = config
  const authenticate: ClientAuth = (_server, client, body, headers) => {
    const authorization = config.authorization()
    if (authorization) headers.set('authorization', authorization)
    else body.set('client_id', client.client_id)
  }
  const server = { issuer: authUrl, revocation_endpoint: revocationEndpoint as string }
  try {
    const response = await withDeadline(revocationLimitMs, (signal) =>
      revocationRequest(server, { client_id: clientId }, authenticate, token, {
        [allowInsecureRequests]: true,
        [customFetch]: (url, { body, headers }) =>
          config.fetch(url, { method: 'POST', body: String(body), headers, redirect: 'manual', signal }),
        additionalParameters: { token_type_hint: 'refresh_token' },
      }),
    )
    discardBody(response)
    return response.status === 200 ? 'done' : 'failed'
  } catch {
    return 'failed'
  }
}
