import { refusesRetry } from './bearer/challenge.ts'
import { replayable } from './bearer/replay.ts'
import { settingsOf } from './bearer/settings.ts'
import { allowedTargets, type BearerScope, hasUserInfo } from './bearer/targets.ts'
import { invalid } from './config/invalid.ts'
import { checkArgument, checkOptions, type OptionKinds } from './config/options.ts'
import { AgentAuthError, isAgentAuthError } from './errors.ts'
import { discardBody } from './internal/discard-body.ts'
import type { AccessTokenSource } from './session.ts'
import { isTokenText } from './tokens.ts'

/** The options of `createBearerFetch`. */
export type BearerFetchOptions = BearerScope & {
  /** Default: the platform's `fetch`, looked up at each call. */
  readonly fetch?: typeof fetch | undefined
  /** What happens to a request that must not carry the token: `pass` sends it without, `reject` throws. Default `pass`. */
  readonly elsewhere?: 'pass' | 'reject' | undefined
}

const optionKinds: OptionKinds<BearerFetchOptions> = {
  baseUrl: 'string',
  origins: 'list',
  fetch: 'function',
  elsewhere: { oneOf: ['pass', 'reject'] },
}

/**
 * Returns a `fetch` that adds `Authorization: Bearer …` to requests under `baseUrl` or `origins`, and to nothing else. A
 * 401 is retried once with a newer token and the same bytes. `source` is a session, or the text of a user session token,
 * which is never renewed. The call rejects as `fetch` does, with what `getAccessToken` rejects with, or with
 * `origin_forbidden`; creating one throws `config_invalid`. RFC 6750 sections 2.1 and 3.1, specification section 5.
 */
export function createBearerFetch(source: AccessTokenSource | string, options: BearerFetchOptions): typeof fetch {
  checkOptions('createBearerFetch', options, optionKinds)
  if (typeof source !== 'string') checkArgument('source', source, { methods: ['getAccessToken'] })
  const tokens = typeof source === 'string' ? fixedToken(source) : source
  const targetOf = allowedTargets(options)
  const { elsewhere = 'pass', fetch: injected } = options
  const bearerFetch: typeof fetch = async (input, init) => {
    const send = injected ?? fetch
    const target = targetOf(input)
    if (target === undefined) {
      checkElsewhere(input, elsewhere)
      return send(input, init)
    }
    const request = typeof target === 'string' ? undefined : target
    const settings = settingsOf(init, request)
    const headers = new Headers(settings.headers ?? request?.headers)
    if (headers.has('authorization')) return send(target, init)
    const { signal = request?.signal } = settings
    // Before any waiting: what the caller changes afterwards belongs to its next call.
    const replay = replayable(target, { ...settings, headers })
    let response: Response | undefined
    let token: string | undefined
    try {
      token = await tokenFrom(tokens, { signal })
      headers.set('authorization', `Bearer ${token}`)
      response = await send(replay.input, replay.init)
      if (response.status !== 401 || refusesRetry(response.headers)) return response
      // A 401 from where a redirect led says nothing about a token that did not travel there.
      if (response.redirected && !(response.url && targetOf(response.url))) return response
      const newer = await tokenFrom(tokens, { rejected: token, signal })
      const again = newer === token ? undefined : await replay.again?.()
      if (!again) return response
      headers.set('authorization', `Bearer ${newer}`)
      discardBody(response)
      return await send(again.input, { ...again.init, headers })
    } catch (error) {
      if (response) discardBody(response)
      if (token === undefined) replay.discard?.()
      throw error
    } finally {
      replay.release?.()
    }
  }
  return bearerFetch
}

function checkElsewhere(input: Parameters<typeof fetch>[0], elsewhere: 'pass' | 'reject'): void {
  if (hasUserInfo(input)) throw new AgentAuthError('origin_forbidden', 'A URL must not hold a user name or password.')
  if (elsewhere === 'pass') return
  throw new AgentAuthError('origin_forbidden', 'The token may not go to this URL: see baseUrl or origins.')
}

/** A user session token cannot be renewed: after a 401 it is still the same. */
function fixedToken(text: string): AccessTokenSource {
  const token = checkToken(text)
  return { getAccessToken: async () => token }
}

async function tokenFrom(
  source: AccessTokenSource,
  options: { rejected?: string; signal: AbortSignal | null | undefined },
): Promise<string> {
  const { rejected, signal } = options
  try {
    return checkToken(await source.getAccessToken(options))
  } catch (error) {
    // A caller that aborts a `fetch` expects its own reason back.
    if (signal?.aborted) throw signal.reason === undefined ? error : signal.reason
    // When nothing can renew the token, the API's own 401 tells the caller more than an error would.
    if (rejected && isAgentAuthError(error) && error.code === 'login_required') return rejected
    throw error
  }
}

/** The platform's own refusal of a header value quotes it. */
function checkToken(token: unknown): string {
  if (isTokenText(token)) return token
  invalid('the access token holds characters that cannot stand in a header')
}
