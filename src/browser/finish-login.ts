import { readCallback } from '../callback.ts'
import type { AuthConfig } from '../config.ts'
import type { AgentAuthError } from '../errors.ts'
import { exchangeCode } from '../exchange.ts'
import type { Grant } from '../grant.ts'
import { abortable, succeeds } from '../internal/timeouts.ts'
import { pendingLogins } from '../pending-logins.ts'
import type { Session } from '../session.ts'
import type { TokenStorage } from '../storage/token-storage.ts'
import { callbackMode, hideCallback } from './callback-url.ts'
import { noteSuccess } from './login-loop.ts'
import { untilShown } from './prerendering.ts'

export interface ArrivalParts {
  readonly config: AuthConfig
  /** What the instances of one app in this page have in common. */
  readonly name: string
  readonly session: Session
  readonly loginStorage: TokenStorage
  /** Shows the page the person came from. */
  readonly navigate: (path: string) => void
  /** What a popup does with its callback. */
  readonly popupCallback: ((address: string) => Promise<void>) | undefined
}

/** The callback this page was opened with, if it is one. */
export interface Arrival {
  /** Finishes it, once; what failed for good keeps failing until a new login starts. */
  finish(): Promise<void> | undefined
  /** Whether it is being finished, or still to be. */
  readonly isBusy: boolean
  /** Where the person wanted to go whose login failed on this page. */
  readonly goal: string | undefined
  /** Exchanges the code and signs the user in, unless `forget` comes first: then it rejects with `aborted`. */
  redeem(grant: Grant): Promise<void>
  /** Discards the callback, because of a sign-out or a new login: a login in progress ends without a session. */
  forget(): void
}

/** The callbacks that this page is finishing, by name: another instance of the app in the page waits for them. */
const inProgress = new WeakMap<Document, Map<string, Promise<void>>>()

export function createArrival(parts: ArrivalParts): Arrival {
  const { config, name, session, loginStorage, navigate, popupCallback } = parts
  const logins = pendingLogins(loginStorage, config)
  let address: string | undefined
  let grant: Grant | undefined
  let work: Promise<void> | undefined
  let goal: string | undefined
  let isBusy = false
  let ending = new AbortController()
  const here = (): string => globalThis.location?.href ?? 'about:blank'
  const isCallback = (): boolean => callbackMode(config.redirectUri, here()) !== undefined

  /** Runs a step of a login. Rejects with `aborted` as soon as `forget` is called. */
  function untilForgotten(step: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { signal } = ending
    return abortable(step(signal), signal)
  }

  async function signIn(checked: Grant, signal: AbortSignal): Promise<void> {
    await session.signIn(await exchangeCode(config, checked, { signal }))
  }

  async function exchange(callback: string, signal: AbortSignal): Promise<void> {
    grant ??= readCallback(await logins.take(callback), callback, { nowMs: config.clock.wallMs() })
    if (signal.aborted) return
    await signIn(grant, signal)
    await succeeds(noteSuccess(loginStorage, config.clock.wallMs()))
    // After a sign-out the app may have shown another page.
    if (grant.returnTo !== undefined && !signal.aborted) navigate(grant.returnTo)
  }

  async function arrive(callback: string): Promise<void> {
    isBusy = true
    const inPopup = callbackMode(config.redirectUri, callback) === 'popup'
    try {
      await untilForgotten((signal) =>
        inPopup && popupCallback ? popupCallback(callback) : exchange(callback, signal),
      )
    } catch (error) {
      const { code, retryable, details } = error as AgentAuthError
      goal = grant?.returnTo ?? details?.returnTo
      if (code === 'aborted') return
      // Reloaded, opened twice or from a bookmark: whoever is signed in stays so, and sees no error.
      if (/^already_|^flow_not/.test(code) && (await session.ready()).status === 'signed-in') return
      // What was taken can only go on from the grant.
      if (retryable && (grant || code === 'storage_failed')) {
        address = callback
        work = undefined
      }
      throw error
    } finally {
      isBusy = false
    }
  }

  /** Finishes this callback, and lets other instances in the page wait for it. */
  async function arriveAlone(callback: string): Promise<void> {
    const here = inProgress.get(document) ?? new Map<string, Promise<void>>()
    const arrived = arrive(callback)
    inProgress.set(document, here.set(name, arrived))
    await succeeds(arrived)
    here.delete(name)
    return arrived
  }

  const elsewhere = (): Promise<void> | undefined => globalThis.document && inProgress.get(document)?.get(name)

  function finish(): Promise<void> | undefined {
    const shown = untilShown()
    if (shown !== undefined && isCallback()) return shown.then(finish)
    if (isCallback()) {
      address = here()
      grant = work = undefined
      hideCallback()
    }
    if (address) {
      work = arriveAlone(address)
      address = undefined
    }
    return work ?? elsewhere()
  }

  return {
    finish,
    get isBusy() {
      return isBusy || isCallback() || elsewhere() !== undefined
    },
    get goal() {
      return location.pathname === new URL(config.redirectUri).pathname ? goal : undefined
    },
    redeem: (checked) => untilForgotten((signal) => signIn(checked, signal)),
    forget() {
      ending.abort()
      ending = new AbortController()
      address = work = undefined
      if (isCallback()) hideCallback()
    },
  }
}
