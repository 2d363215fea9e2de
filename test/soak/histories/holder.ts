import {
  type AuthConfig,
  createAuthConfig,
  createSession,
  exchangeCode,
  isAgentAuthError,
  readCallback,
  type Session,
  startLogin,
  type TokenStorage,
  type Tokens,
} from 'agent-auth'
import type { CallKind } from '../checker/history.ts'
import {
  fingerprint,
  monotonicMs,
  type Outcome,
  recorded,
  type WatchedStorage,
  type Write,
  watchedStorage,
} from './recorder.ts'
import type { WorkerTask } from './task.ts'

interface Holder {
  readonly name: string
  readonly config: AuthConfig
  readonly session: Session
  readonly watched: WatchedStorage
}

export interface Holders {
  /** Makes one call of a session. The fraction from 0 to 1 chooses which. */
  call(session: number, choice: number): Promise<void>
  /** Asks each session for its token in a holder that knows nothing yet. */
  readAll(): Promise<void>
}

/** The choice of a call that asks for the token of a session in use. */
export const asksForToken = 0.5

/** The sessions of one process. Each is used by one holder until another takes its place, as if the backend had dropped it. */
export function holders(
  task: WorkerTask,
  { storage, wallMs, write }: { storage: Required<TokenStorage>; wallMs: () => number; write: Write },
): Holders {
  const current = new Map<number, Holder>()
  const signedOut = new Set<number>()
  let [made, called] = [0, 0]

  function configOf(holder: string): AuthConfig {
    return createAuthConfig({
      ...task.config,
      clock: { wallMs, monotonicMs: () => performance.now() },
      // They are in the outcomes of the calls.
      onEvent() {},
      fetch: (input, init) => {
        const headers = new Headers(init?.headers)
        headers.set('x-process', task.name)
        headers.set('x-holder', holder)
        headers.set('x-sent-ms', String(monotonicMs()))
        return fetch(input, { ...init, headers })
      },
    })
  }

  function newHolder(index: number): Holder {
    const watched = watchedStorage(storage)
    const name = `${task.name}/${made++}`
    const config = configOf(name)
    const session = createSession(config, { storage: watched.storage, key: `person-${index}` })
    const holder = { name, config, session, watched }
    current.set(index, holder)
    return holder
  }

  function record(index: number, holder: Holder, kind: CallKind, run: () => Promise<Outcome>, token?: string) {
    const id = `${task.name}:${called++}`
    const given = token === undefined ? {} : { token }
    const call = { id, kind, holder: holder.name, session: `person-${index}`, ...given }
    return recorded(write, call, async () => ({ ...(await run().catch(failed)), ...holder.watched.known() }))
  }

  function getToken(index: number, holder: Holder, kind: 'getToken' | 'refresh'): Promise<void> {
    return record(index, holder, kind, async () => {
      const ask = (): Promise<string> => holder.session.getAccessToken({ forceRefresh: kind === 'refresh' })
      const token = await (kind === 'refresh' ? ask() : holder.watched.ignoringReads('under the lock', ask))
      return { outcome: 'ok', token: fingerprint(token) }
    }).finally(() => {
      if (holder.session.state.status === 'signed-out') signedOut.add(index)
      else signedOut.delete(index)
    })
  }

  async function signIn(index: number, holder: Holder): Promise<void> {
    const tokens = await login(holder.config, index).catch(() => undefined)
    if (!tokens) return
    await record(
      index,
      holder,
      'signIn',
      async () => {
        await holder.session.signIn(tokens)
        return { outcome: 'ok', saved: holder.watched.hasSaved(tokens.accessToken) }
      },
      fingerprint(tokens.accessToken),
    )
  }

  async function login(config: AuthConfig, index: number): Promise<Tokens> {
    const { url, pending } = await startLogin(config)
    const person = task.people[index % task.people.length] ?? ''
    const answer = await fetch(url, { redirect: 'manual', headers: { 'x-person': person } })
    return exchangeCode(config, readCallback(pending, answer.headers.get('location') ?? ''))
  }

  return {
    async call(index, choice) {
      const isNew = choice < 0.05
      const holder = (isNew ? undefined : current.get(index)) ?? newHolder(index)
      // A user who finds the session gone signs in.
      if (signedOut.has(index) && choice > 0.5) return signIn(index, holder)
      if (choice < 0.65) return getToken(index, holder, 'getToken')
      if (choice < 0.9) return getToken(index, holder, 'refresh')
      if (choice < 0.97) return signIn(index, holder)
      return record(index, holder, 'signOut', async () => {
        await holder.watched.ignoringReads('all', () => holder.session.signOut())
        return { outcome: 'ok' }
      })
    },
    async readAll() {
      const indexes = Array.from({ length: task.sessions }, (_, index) => index)
      await Promise.all(indexes.map((index) => getToken(index, newHolder(index), 'getToken')))
    },
  }
}

function failed(error: unknown): Outcome {
  return { outcome: isAgentAuthError(error) ? error.code : `bug: ${error instanceof Error ? error.message : error}` }
}
