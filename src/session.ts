import { readClaims, type TokenClaims } from './claims.ts'
import { checkAwaited, checkOptions, type OptionKinds, storageKind } from './config/check-options.ts'
import { type AuthConfig, checkConfig } from './config.ts'
import { AgentAuthError } from './errors.ts'
import { randomText } from './internal/base64url.ts'
import { type GetAccessTokenOptions, tokenGetter } from './session/access-token.ts'
import type { CurrentSession } from './session/current.ts'
import { sessionParts } from './session/parts.ts'
import { decodeRecord, encodeRecord, isRecord, sessionName } from './session/record.ts'
import { refreshRetries } from './session/refresh-retries.ts'
import { saveSignIn } from './session/save.ts'
import { endUnsaved, signOut } from './session/sign-out.ts'
import type { SessionState } from './session/state.ts'
import { sessionStore } from './session/store.ts'
import { memoryStorage } from './storage/memory.ts'
import type { TokenStorage } from './storage/token-storage.ts'
import type { Tokens } from './tokens.ts'

export type { GetAccessTokenOptions }

/** The options of `resume`. */
export interface ResumeOptions {
  /**
   * Says what happened in another page or process. After `sign-out`, a session also ends if its record is not saved, because the
   * sign-out there did not find it in the storage. A `signIn` that waits for an earlier `signOut` here then has no effect. Default
   * `change`.
   */
  readonly after?: 'change' | 'sign-out' | undefined
}

/** An object that returns access tokens, such as a session. */
export interface AccessTokenSource {
  /** Returns a usable access token. */
  getAccessToken(options?: GetAccessTokenOptions): Promise<string>
}

/** One user's tokens, kept valid and stored. */
export interface Session extends AccessTokenSource {
  /**
   * Returns a usable access token, and refreshes it first if necessary. Rejects with `login_required`, `session_ended`,
   * `session_changed`, `temporarily_unavailable`, `timeout`, `lock_timeout`, `response_invalid`, `response_too_large`,
   * `client_rejected`, `config_invalid`, `storage_failed` or `aborted`.
   */
  getAccessToken(options?: GetAccessTokenOptions): Promise<string>
  /**
   * Replaces the session by one with these tokens, and saves it. Resolves also if the save failed, which is tried again, or if a
   * later `signIn`, `signOut` or `resume({ after: 'sign-out' })` took effect instead. Rejects with `response_invalid` or `config_invalid`.
   */
  signIn(tokens: Tokens): Promise<void>
  /** Ends the session here at once, then removes its record. Needs no network. Rejects with `storage_failed` if it may remain. */
  signOut(): Promise<void>
  /**
   * Resolves with the state when the storage was read. Write `await`: the promise itself has no `status`. Rejects with
   * `storage_failed` or `config_invalid`.
   */
  ready(): Promise<SessionState>
  /**
   * Reads the storage again and lets the next refresh start without the retry delay. Call it when the page or machine woke up,
   * came online or heard of a change elsewhere. Rejects with `storage_failed` or `config_invalid`.
   */
  resume(options?: ResumeOptions): Promise<void>
  /** What is known about the signed-in user. The same object until something changes. */
  readonly state: SessionState
  /**
   * What the current access token says about its user, read at each access. Undefined without a token, and for a token that is no
   * JWT. Not verified: fit for display, never for a decision about access.
   */
  readonly claims: TokenClaims | undefined
  /** Calls the listener after each change of `state`, perhaps only when the lock is free. Returns a function that ends this. */
  subscribe(listener: () => void): () => void
}

/** The options of `createSession`. */
export interface SessionOptions {
  /** Keeps the record. Default: memory. */
  readonly storage?: TokenStorage | undefined
  /** Identifies a session if several share one storage, for example one for each user. Default `default`. */
  readonly key?: string | undefined
}

const optionKinds: OptionKinds<SessionOptions> = { storage: storageKind, key: 'string' }
const resumeKinds: OptionKinds<ResumeOptions> = { after: { oneOf: ['change', 'sign-out'] } }

/** What another entry point does along with a session. */
export interface SessionHooks {
  /** Called at each `signOut`, as soon as the session has ended here. */
  onSignOut(): void
}

/** A session for another entry point. */
export interface HookedSession {
  readonly session: Session
  /** The tokens and the state in memory, which may be newer than the record in the storage. */
  readonly current: CurrentSession
  /** Signs out because of a sign-out elsewhere, and does not call `onSignOut`. Rejects as `signOut` does. */
  followSignOut(): Promise<void>
  /** Does the work of `signIn`, with an id that the caller made. It must be unique. */
  signInAs(id: string, tokens: Tokens): Promise<void>
}

/**
 * Creates a session: it stores one user's tokens, refreshes them when necessary, and shares one refresh among concurrent
 * calls. Sign-out takes precedence over a refresh in progress. Throws `config_invalid`. Specification section 5.2, RFC 6749
 * section 6.
 */
export function createSession(config: AuthConfig, options: SessionOptions = {}): Session {
  checkConfig('createSession', config)
  return createHookedSession(config, checkOptions('createSession', options, optionKinds), { onSignOut() {} }).session
}

/** Does the work of `createSession`, with hooks, for callers that have checked the options. */
export function createHookedSession(
  config: AuthConfig,
  options: SessionOptions,
  { onSignOut }: SessionHooks,
): HookedSession {
  const { storage = memoryStorage(), key = 'default' } = options
  const parts = sessionParts(config, sessionStore(storage, sessionName(config, key)))
  const { current, sync } = parts
  const retries = refreshRetries(parts, storage.withLock ? 'everywhere' : 'here') // How far its lock reaches.
  let firstRemovals: Promise<unknown> = Promise.resolve()
  /** Rises with each call that a waiting `signIn` gives way to: `signIn`, `signOut`, and `resume` after a sign-out. */
  let latestCall = 0

  function endHere(): Promise<void> {
    latestCall++
    retries.cancel()
    const { firstRemoval, done } = signOut(parts)
    // `then` drops the result, because each result would hold the one before it.
    firstRemovals = Promise.all([firstRemovals, firstRemoval]).then(() => {})
    return done
  }

  async function signInAs(id: string, tokens: Tokens): Promise<void> {
    const own = checkedTokens(tokens)
    const call = ++latestCall
    // A `signOut` first removes the record that it finds. It must not find that of this sign-in, so this sign-in waits.
    await firstRemovals
    if (call !== latestCall) return // A later call takes effect.
    retries.cancel()
    current.set({ id, rev: 1, signedInAtMs: config.clock.wallMs(), tokens: own }, { kind: 'first_save', write: 'none' })
    await saveSignIn(parts)
    current.notify()
  }

  const methods: Omit<Session, 'state' | 'claims'> = {
    getAccessToken: tokenGetter(parts, retries),
    signIn: (tokens) => signInAs(randomText(), tokens),
    signOut() {
      const done = endHere()
      onSignOut()
      return done
    },
    async ready() {
      await sync.revalidate()
      return current.state
    },
    async resume(options = {}) {
      const { after } = checkOptions('resume', options, resumeKinds)
      retries.reset()
      if (after === 'sign-out') {
        // A `signIn` may still wait for a `signOut` here. It began before the sign-out elsewhere, so it must have no effect.
        latestCall++
        endUnsaved(parts, retries)
      }
      await sync.revalidate('now')
    },
    subscribe: current.subscribe,
  }
  return { session: Object.assign(new SessionStateView(current), methods), current, followSignOut: endHere, signInAs }
}

/** Has `state` and `claims` as getters of a prototype, because V8 gives each object with getters of its own a hash table. */
class SessionStateView {
  readonly #current: CurrentSession

  constructor(current: CurrentSession) {
    this.#current = current
  }

  get state(): SessionState {
    return this.#current.state
  }

  get claims(): TokenClaims | undefined {
    const { record } = this.#current
    return record && readClaims(record.tokens)
  }
}

/** Returns a copy of the tokens. Tokens that a later start could not read back are refused. */
function checkedTokens(tokens: Tokens): Tokens {
  checkAwaited('tokens', tokens)
  const record = decodeRecord('', encodeRecord('', { id: '', rev: 1, tokens }))
  if (isRecord(record)) return record.tokens
  throw new AgentAuthError(
    'response_invalid',
    'These tokens are not valid. Pass the tokens that exchangeCode or refreshTokens returned.',
  )
}
