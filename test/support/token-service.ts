import type { Tokens } from 'agent-auth'
import { secret } from './canary.ts'

/** One line of the history, which is only ever appended to. `call` numbers the requests from 1. */
export type Entry =
  | { readonly event: 'sent'; readonly call: number; readonly refreshToken: string }
  | { readonly event: 'granted'; readonly call: number; readonly family: number; readonly replay: boolean }
  | { readonly event: 'refused'; readonly call: number; readonly family: number; readonly why: 'reused' | 'revoked' }
  | { readonly event: 'delivered' | 'lost' | 'aborted'; readonly call: number }
  | { readonly event: 'stored' | 'signed-out' | 'signing-out' | 'held'; readonly family: number }
  | { readonly event: 'removed' }

/**
 * What happens to one request. `lose`: the token is rotated, the answer never arrives. `hang`: the same, and the connection
 * stays open. `unreachable`: nothing arrives at the service.
 */
export type Answer = 'ok' | 'lose' | 'hang' | 'unreachable' | (() => Response)

export interface TokenServiceOptions {
  /** `expires_in`; null leaves it out. Default 3,600. */
  readonly lifeS?: number | null
  /** Default true. Without rotation the answer holds no refresh token. */
  readonly rotate?: boolean
  /** What a refresh token that was used before gets; `grace` repeats the answer until the successor is used. */
  readonly reuse?: 'revoke' | 'refuse' | 'grace'
  /** Makes token values. Default: secrets the canary sweep looks for. */
  readonly token?: (label: string) => string
  /** Awaited when a request arrives and before its answer leaves. */
  readonly travel?: (what: string) => Promise<void>
  readonly wallMs?: () => number
}

export interface TokenService {
  readonly fetch: typeof fetch
  readonly history: Entry[]
  /** Refresh tokens in the order in which they were sent. */
  readonly sent: readonly string[]
  /** Answers for the next requests in turn. */
  answer(...next: readonly Answer[]): void
  /** The answer when none is planned. Default `ok`. */
  usually(answer: Answer): void
  /** Keeps every answer back until the returned function is called. */
  hold(): () => void
  /** The tokens of a new sign-in. */
  issue(members?: Partial<Tokens>): Tokens
  familyOf(token: string | undefined): number
  revoke(family: number): void
  /** Whether the API would take this access token's family. */
  isAlive(family: number): boolean
}

interface Leaf {
  readonly family: number
  readonly refreshToken: string
  readonly accessToken: string
  successor?: Leaf
}

let words = 0
/** Plain words instead of secrets, for properties that make a great many tokens. */
export const word = (label: string): string => `${label}-${++words}`

/** A token endpoint in this process: refresh tokens rotate, a second use is noticed, and everything is written down. */
export function tokenService(options: TokenServiceOptions = {}): TokenService {
  const { lifeS = 3_600, rotate = true, reuse = 'revoke', token = secret, travel, wallMs = Date.now } = options
  const history: Entry[] = []
  const sent: string[] = []
  const planned: Answer[] = []
  const leaves = new Map<string, Leaf>()
  const revoked = new Set<number>()
  let usual: Answer = 'ok'
  let families = 0
  let gate: Promise<void> | undefined

  const plant = (family: number, refreshToken = token('refresh')): Leaf => {
    const leaf: Leaf = { family, refreshToken, accessToken: token('access') }
    leaves.set(leaf.refreshToken, leaf)
    leaves.set(leaf.accessToken, leaf)
    return leaf
  }
  const refused = (call: number, family: number, why: 'reused' | 'revoked'): Response => {
    history.push({ event: 'refused', call, family, why })
    return json(400, { error: 'invalid_grant' })
  }
  const grant = (call: number, { family, accessToken, refreshToken }: Leaf, replay: boolean): Response => {
    history.push({ event: 'granted', call, family, replay })
    return json(200, {
      access_token: accessToken,
      ...(rotate && { refresh_token: refreshToken }),
      ...(lifeS !== null && { expires_in: lifeS }),
    })
  }
  const refresh = (call: number, refreshToken: string): Response => {
    const leaf = leaves.get(refreshToken)
    if (!leaf || revoked.has(leaf.family)) return refused(call, leaf?.family ?? 0, 'revoked')
    if (!rotate) return grant(call, plant(leaf.family, refreshToken), false)
    const { successor } = leaf
    if (successor && reuse === 'grace' && !successor.successor) return grant(call, successor, true)
    if (successor) {
      if (reuse !== 'refuse') revoked.add(leaf.family)
      return refused(call, leaf.family, 'reused')
    }
    leaf.successor = plant(leaf.family)
    return grant(call, leaf.successor, false)
  }
  const serve = async (call: number, refreshToken: string): Promise<Response> => {
    const answer = planned.shift() ?? usual
    await travel?.(`request ${call} arrives`)
    if (answer === 'unreachable')
      throw new TypeError('fetch failed', { cause: Object.assign(new Error(), { code: 'ECONNREFUSED' }) })
    const response = typeof answer === 'function' ? answer() : refresh(call, refreshToken)
    await gate
    await travel?.(`answer ${call} arrives`)
    if (answer === 'lose') throw new TypeError('fetch failed', { cause: new Error('other side closed') })
    return answer === 'hang' ? new Promise<never>(() => {}) : response
  }
  return {
    history,
    sent,
    async fetch(input, init) {
      const url = new URL(String(input))
      if (url.search !== '?grant_type=refresh_token') throw new Error(`Not a refresh: ${url.search}`)
      const { refresh_token: refreshToken } = JSON.parse(String(init?.body)) as { refresh_token: string }
      const call = sent.push(refreshToken)
      history.push({ event: 'sent', call, refreshToken })
      const work = serve(call, refreshToken)
      work.catch(() => {})
      const stopped = new Promise<never>((_, reject) => {
        init?.signal?.addEventListener('abort', () =>
          reject(new DOMException('This operation was aborted', 'AbortError')),
        )
      })
      try {
        const response = await Promise.race([work, stopped])
        history.push({ event: 'delivered', call })
        return response
      } catch (error) {
        history.push({ event: error instanceof DOMException ? 'aborted' : 'lost', call })
        throw error
      }
    },
    answer: (...next) => void planned.push(...next),
    usually(answer) {
      usual = answer
    },
    hold() {
      let release = (): void => {}
      gate = new Promise((resolve) => {
        release = () => {
          gate = undefined
          resolve()
        }
      })
      return release
    },
    issue(members = {}) {
      const leaf = plant(++families)
      const obtainedAtMs = wallMs()
      return {
        accessToken: leaf.accessToken,
        refreshToken: leaf.refreshToken,
        obtainedAtMs,
        ...(lifeS !== null && { expiresAtMs: obtainedAtMs + lifeS * 1000 }),
        ...members,
      }
    },
    familyOf: (value) => (value === undefined ? 0 : (leaves.get(value)?.family ?? 0)),
    revoke: (family) => void revoked.add(family),
    isAlive: (family) => !revoked.has(family),
  }
}

export function json(status: number, body: unknown, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json', ...headers } })
}
