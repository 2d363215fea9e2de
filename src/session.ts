import { generateRandomState } from 'oauth4webapi'
import type { TokenClaims } from './claims.ts'
import type { AuthConfig } from './config.ts'
import { AgentAuthError } from './errors.ts'
import { checkAwaited, checkNames, checkStorage, invalid } from './internal/values.ts'
import { type GetAccessTokenOptions, tokenGetter } from './session/access-token.ts'
import { SessionMemory, type SessionState } from './session/memory.ts'
import { decodeRecord, encodeRecord, isRecord, type SessionRecord, sessionName } from './session/record.ts'
import { sharedRefresh } from './session/refresh.ts'
import { saveSignIn } from './session/sign-in.ts'
import { removeRecord } from './session/sign-out.ts'
import { sessionStore } from './session/store.ts'
import { type RecordSync, recordSync, type SessionParts } from './session/sync.ts'
import { memoryStorage } from './storage/memory.ts'
import type { TokenStorage } from './storage/token-storage.ts'
import type { Tokens } from './tokens.ts'

export type { GetAccessTokenOptions }

/** The options of `resume`. */
export interface ResumeOptions {
  /**
   * Says what happened in another page or process. After `sign-out`, a `signIn` in progress here has no effect. Default `change`.
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
   * Ends the session at once, and starts one with these tokens when they are saved. Calls for a token wait for it. If it cannot save them,
   * the user is signed out, and it rejects with `storage_failed` or `lock_timeout`. If a later `signIn` was called, it settles as that one
   * does. Resolves also if a later `signOut` or `resume({ after: 'sign-out' })` took effect instead. Rejects with `response_invalid` or
   * `config_invalid` for tokens that are not valid, and changes nothing then.
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
   * came online or was notified of a change elsewhere. Rejects with `storage_failed` or `config_invalid`.
   */
  resume(options?: ResumeOptions): Promise<void>
  /** What is known about the signed-in user. The same object until something changes. */
  readonly state: SessionState
  /** `claims` of the state. Not verified: fit for display, never for a decision about access. */
  readonly claims: TokenClaims | undefined
  /** Returns `state`. With `subscribe`, this makes the session a store, for example of `useSyncExternalStore`. */
  getSnapshot(): SessionState
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

/**
 * Creates a session: it stores one user's tokens, refreshes them when necessary, and shares one refresh among concurrent
 * calls. Sign-out takes precedence over a refresh in progress. Throws `config_invalid`. Specification section 5.2, RFC 6749
 * section 6.
 */
export function createSession(config: AuthConfig, options: SessionOptions = {}): Session {
  const own = checkNames('createSession', options, ['storage', 'key'])
  if (own.storage !== undefined) checkStorage('storage', own.storage)
  return openSession(config, own).session
}

/**
 * Does the work of `createSession` for callers that have checked the options. The memory has the tokens, which may be newer than the record
 * in the storage.
 */
export function openSession(
  config: AuthConfig,
  { storage = memoryStorage(), key = 'default' }: SessionOptions,
): { session: Session; memory: SessionMemory; sync: RecordSync } {
  // Users whose keys are objects would share one session.
  if (typeof key !== 'string') invalid('key must be a string')
  const store = sessionStore(storage, sessionName(config, key), config.emit)
  const memory = new SessionMemory(config)
  const sync = recordSync(config.clock, store, memory)
  const parts: SessionParts = { config, store, memory, sync }
  const refresh = sharedRefresh(parts)
  /** The sign-in in progress that was called last. A sign-out cancels it. */
  let signingIn: { readonly id: string; readonly done: Promise<unknown> } | undefined

  function cancelSignIn(): void {
    // Its write may still take effect.
    memory.forget(signingIn?.id)
    signingIn = undefined
  }

  async function signIn(tokens: Tokens): Promise<void> {
    const id = generateRandomState()
    const record = { id, rev: 1, signedInAtMs: config.clock.wallMs(), tokens: checkedTokens(tokens) }
    cancelSignIn()
    memory.end()
    refresh.discard()
    memory.notify()
    // After the first removal of a sign-out, which would remove the record of this sign-in.
    const saved = Promise.resolve(sync.released()).then(() => save(record))
    // An earlier call settles as the later one does.
    const done = saved.then((isSaved) => isSaved || signingIn?.done)
    signingIn = { id, done }
    sync.holdUntil(saved)
    await done
  }

  async function save(record: SessionRecord): Promise<boolean> {
    const isLatest = (): boolean => signingIn?.id === record.id
    try {
      return await saveSignIn(parts, record, isLatest)
    } catch (error) {
      if (!isLatest()) return false
      memory.end('signed_out')
      store.report('write_failed', error)
      throw error
    } finally {
      if (isLatest()) signingIn = undefined
      memory.notify()
    }
  }

  const getSnapshot = (): SessionState => memory.state
  const methods: Omit<Session, 'state' | 'claims'> = {
    getSnapshot,
    getAccessToken: tokenGetter(parts, refresh),
    signIn,
    signOut() {
      cancelSignIn()
      memory.end('signed_out')
      const { first, done } = removeRecord(parts)
      refresh.discard(first)
      sync.holdUntil(first)
      memory.notify()
      return done
    },
    async ready() {
      await sync.revalidate()
      return memory.state
    },
    async resume(options = {}) {
      const { after = 'change' } = checkNames('resume', options, ['after'])
      refresh.resetDelay()
      if (after === 'sign-out' && signingIn) {
        cancelSignIn()
        memory.end('signed_out')
        memory.notify()
      }
      await sync.revalidate('now')
    },
    subscribe: (listener) => memory.subscribe(listener),
  }
  // Getters that do not depend on `this` work through the proxy of a state library. Not enumerable, so that no log of a session shows claims.
  const session = Object.defineProperties(methods, {
    state: { get: getSnapshot, configurable: true },
    claims: { get: () => memory.state.claims, configurable: true },
  }) as Session
  return { session, memory, sync }
}

/** Returns a copy of the tokens. Tokens that a later start could not read back are refused. */
function checkedTokens(tokens: Tokens): Tokens {
  checkAwaited('tokens', tokens)
  const record = decodeRecord('', encodeRecord('', { id: '', rev: 1, tokens }))
  if (isRecord(record)) return record.tokens
  throw new AgentAuthError(
    'response_invalid',
    'These tokens are not valid. Pass those of exchangeCode or refreshTokens.',
  )
}
