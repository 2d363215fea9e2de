import { checkNames, checkOptions, type OptionKinds, storageKind } from './config/options.ts'
import { type AuthConfig, checkConfig } from './config.ts'
import { AgentAuthError, isAgentAuthError } from './errors.ts'
import { randomText } from './internal/base64url.ts'
import { abortable, aborted, attempted } from './internal/timeouts.ts'
import { sessionHolder } from './session/current.ts'
import { freshness } from './session/held-tokens.ts'
import { decodeRecord, encodeRecord, isRecord, sessionName } from './session/record.ts'
import { loginRequired, superseded } from './session/refresh.ts'
import { createRenewal, type Renewal } from './session/renewal.ts'
import { owedSaving, saveSignIn } from './session/save.ts'
import { endUnsaved, signOut } from './session/sign-out.ts'
import type { SessionHolder, SessionState } from './session/state.ts'
import { isPromise, sessionStore } from './session/store.ts'
import { memoryStorage } from './storage/memory.ts'
import type { TokenStorage } from './storage/token-storage.ts'
import type { Tokens } from './tokens.ts'

/** The options of `getAccessToken`. */
export interface GetAccessTokenOptions {
  /** An access token the API refused with 401. */
  readonly rejected?: string | undefined
  /** Asks for a token that is good for this long, as far as the service grants it. Milliseconds, default 0. */
  readonly minValidMs?: number | undefined
  /** Renews even a token that seems good. */
  readonly forceRefresh?: boolean | undefined
  /** Ends only this caller's wait. */
  readonly signal?: AbortSignal | null | undefined
}

/** The options of `resume`. */
export interface ResumeOptions {
  /**
   * What happened elsewhere. `sign-out` also ends a session whose record could not be saved, because the sign-out found no
   * record to remove. Default `change`.
   */
  readonly after?: 'change' | 'sign-out' | undefined
}

/** Whatever can hand out an access token; a session is one. */
export interface AccessTokenSource {
  /** Returns a usable access token. */
  getAccessToken(options?: GetAccessTokenOptions): Promise<string>
}

/** One person's tokens, kept fresh and stored. */
export interface Session extends AccessTokenSource {
  /**
   * Returns a usable access token, renewed first when needed. Rejects with `login_required`, `session_ended`,
   * `session_changed`, `temporarily_unavailable`, `timeout`, `lock_timeout`, `response_invalid`, `response_too_large`,
   * `client_rejected`, `config_invalid`, `storage_failed` or `aborted`.
   */
  getAccessToken(options?: GetAccessTokenOptions): Promise<string>
  /** Replaces whatever session there is by these tokens and saves them. Rejects with `response_invalid`. */
  signIn(tokens: Tokens): Promise<void>
  /** Ends the session here at once and in the store; needs no network. Rejects with `storage_failed` if the record is still there. */
  signOut(): Promise<void>
  /** Resolves when the store was read. Rejects with `storage_failed`. */
  ready(): Promise<SessionState>
  /**
   * Looks at the store anew and lets the next refresh go out at once: for when the page or machine woke up, came online or
   * heard of a change elsewhere. Rejects with `storage_failed`.
   */
  resume(options?: ResumeOptions): Promise<void>
  /** The same object until something changes. */
  readonly state: SessionState
  /** Calls the listener after each change of `state`; returns how to stop that. */
  subscribe(listener: () => void): () => void
}

/** The options of `createSession`. */
export interface SessionOptions {
  /** Default: memory. */
  readonly storage?: TokenStorage | undefined
  /** Tells sessions over one storage apart, for example by person. Default `default`. */
  readonly key?: string | undefined
}

const optionKinds: OptionKinds<SessionOptions> = { storage: storageKind, key: 'string' }
const tokenOptionNames: readonly (keyof GetAccessTokenOptions)[] = ['rejected', 'minValidMs', 'forceRefresh', 'signal']

/** How long after a refresh a 401 is taken as the API's last word, in milliseconds. */
const refusalPauseMs = 30_000

/**
 * Keeps one person signed in: single flight, guarded commits, sign-out that wins. Throws `config_invalid`. Specification
 * section 5.2, RFC 6749 section 6.
 */
export function createSession(config: AuthConfig, options: SessionOptions = {}): Session {
  checkConfig('createSession', config)
  checkOptions('createSession', options, optionKinds)
  const { storage = memoryStorage(), key = 'default' } = options
  const holder = sessionHolder(config, sessionStore(storage, sessionName(config, key)))
  const renewal = createRenewal(holder, storage.withLock ? 'locked' : 'unlocked')
  const saveOwed = owedSaving(holder)
  let leaving: Promise<unknown> = Promise.resolve()
  let wishes = 0
  const methods: Omit<Session, 'state'> = {
    async getAccessToken(options = {}) {
      checkNames('getAccessToken', options, tokenOptionNames)
      const caller = holder.held?.record.id
      const looked = holder.look()
      if (isPromise(looked)) await abortable(looked, options.signal)
      // A call made for one person must not go out with the token of another.
      if (caller && holder.held && holder.held.record.id !== caller) throw superseded(holder)
      const { held } = holder
      try {
        return await currentToken(holder, renewal, options)
      } finally {
        // A refresh writes as well, and must not wait for the lock behind this.
        if (holder.held === held) saveOwed()
      }
    },
    async signIn(tokens) {
      const own = checkedTokens(tokens)
      const turn = ++wishes
      // A sign-out removes first what it finds, whosever it is; one that is called meanwhile has the last word.
      await attempted(() => leaving)
      if (turn !== wishes) return
      renewal.cancel()
      holder.hold({ id: randomText(), rev: 1, tokens: own }, { kind: 'replacing' })
      await saveSignIn(holder)
      holder.flush()
    },
    signOut() {
      wishes++
      renewal.cancel()
      const { forgotten, done } = signOut(holder)
      // Without its values, which would hold those of every sign-out before.
      leaving = Promise.all([leaving, forgotten]).then(() => {})
      return done
    },
    async ready() {
      await holder.look()
      return holder.state
    },
    async resume(options = {}) {
      checkNames('resume', options, ['after'])
      const { after = 'change' } = options
      renewal.retryNow()
      if (after === 'sign-out' && holder.held && holder.expected.kind !== 'saved') {
        renewal.cancel()
        endUnsaved(holder)
      }
      await holder.look('now')
    },
    subscribe: holder.subscribe,
  }
  return Object.assign(new StateOf(holder), methods)
}

/** All sessions share this getter: V8 gives each object with a getter of its own a hash table, and a backend has thousands. */
class StateOf {
  readonly #holder: SessionHolder

  constructor(holder: SessionHolder) {
    this.#holder = holder
  }

  get state(): SessionState {
    return this.#holder.state
  }
}

async function currentToken(holder: SessionHolder, renewal: Renewal, options: GetAccessTokenOptions): Promise<string> {
  const { clock } = holder.config
  const { rejected, minValidMs, forceRefresh, signal } = options
  if (signal?.aborted) throw aborted()
  const { held } = holder
  if (!held) throw loginRequired()
  if (holder.isFromAnotherSession(rejected)) throw superseded(holder)
  const { accessToken, refreshToken, obtainedAtMs } = held.record.tokens
  const nowMs = clock.monotonicMs()
  const state = freshness(held, nowMs, minValidMs)
  const refused = rejected === accessToken
  // By both clocks, since the monotonic one may stand still while the machine sleeps. A stamp far in the future says
  // that the wall clock was put back, so that the token's age is unknown.
  const ageMs = Math.max(nowMs - held.bornMs, Math.abs(clock.wallMs() - obtainedAtMs))
  if (refused && state !== 'spent' && held.record.rev > 1 && ageMs < refusalPauseMs) return accessToken
  const needed = state === 'spent' || refused || forceRefresh
  if (!needed && (state === 'good' || !refreshToken)) return accessToken
  if (!refreshToken) {
    if (state === 'spent') holder.end('expired')
    holder.flush()
    throw loginRequired()
  }
  try {
    await renewal.renew(held, needed ? 'needed' : 'early', signal)
  } catch (error) {
    const usable = freshness(held, clock.monotonicMs()) !== 'spent' && holder.held === held
    if (!needed && usable && isAgentAuthError(error) && error.code !== 'aborted') return accessToken
    throw error
  }
  if (holder.held?.record.id !== held.record.id) throw superseded(holder)
  return holder.held.record.tokens.accessToken
}

/** A copy; what a later start could not read back is not taken. */
function checkedTokens(tokens: Tokens): Tokens {
  const record = decodeRecord('', encodeRecord('', { id: '-', rev: 1, tokens }))
  if (isRecord(record)) return record.tokens
  throw new AgentAuthError('response_invalid', 'These tokens do not come from exchangeCode or refreshTokens.')
}
