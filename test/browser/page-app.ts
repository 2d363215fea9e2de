import {
  type BrowserAuth,
  type BrowserAuthOptions,
  createBrowserAuth,
  indexedDbStorage,
  popupLogin,
  webStorage,
} from 'agent-auth/browser'
import type { Kind, PageConfig } from './kinds.ts'

// The app that the browser tests open: served built, under a strict Content-Security-Policy, at every path of its origin.

export interface TestApp {
  readonly auth: BrowserAuth
  /** What `ready()` of the start gave: a status, or the code it rejected with. */
  started: string
  /** A second instance of the app, if the test asked for one. */
  readonly twin: BrowserAuth | undefined
  /** What its `ready()` gave. */
  twinStarted: string
  readonly events: { type: string; reason?: string }[]
  /** The status at each call of a listener, with the time on this page's clock. */
  readonly told: { status: string; reason: string | undefined; sessionRef: string | undefined; atMs: number }[]
  /** What this page puts on top of its clocks, in milliseconds. */
  readonly ahead: { wallMs: number; monotonicMs: number }
  /** Calls the API: the status, or the code or name of what it rejected with. */
  call(): Promise<number | string>
  /** What a promise rejects with, as a code or name. */
  codeOf(work: Promise<unknown>): Promise<string>
}

declare global {
  interface Window {
    app: TestApp
    /** Set before the app starts, to change its options. */
    adjust?: (options: BrowserAuthOptions) => BrowserAuthOptions
    /** There when the app is to sign in by itself; hears why it could not. */
    guardStopped?: (code: string) => void
    /** Set before the app starts: a second instance, a start without `ready()`, or two automatic logins in a row. */
    start?: 'twice' | 'without ready()'
    /** Set before the app starts: how far its clocks are ahead. */
    aheadMs?: number
    violations: string[]
  }
}

window.violations = []
document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => {
  window.violations.push(`${violatedDirective} ${blockedURI}`)
})

const storages = {
  memory: () => undefined,
  session: () => webStorage(() => sessionStorage),
  local: () => webStorage(() => localStorage),
  indexed: () => indexedDbStorage(),
}

function start(): TestApp {
  const config = JSON.parse(document.querySelector('#config')?.textContent ?? '') as PageConfig
  const kind = location.pathname.split('/')[1] as Kind
  const ahead = { wallMs: window.aheadMs ?? 0, monotonicMs: window.aheadMs ?? 0 }
  const events: TestApp['events'] = []
  const base: BrowserAuthOptions = {
    ...config,
    redirectUri: `${location.origin}/${kind}/callback`,
    storage: storages[kind](),
    popup: popupLogin(),
    clock: {
      wallMs: () => Date.now() + ahead.wallMs,
      monotonicMs: () => performance.now() + ahead.monotonicMs,
    },
    onEvent: (event) => events.push(event),
  }
  const options = window.adjust?.(base) ?? base
  const auth = createBrowserAuth(options)
  const twin = window.start === 'twice' ? createBrowserAuth(options) : undefined
  const told: TestApp['told'] = []
  const show = (): void => {
    const { status, reason, sessionRef } = auth.session.state
    const label = document.querySelector('#state')
    if (label) label.textContent = status
    told.push({ status, reason, sessionRef, atMs: Date.now() })
  }
  auth.session.subscribe(show)
  document.querySelector('#popup')?.addEventListener('click', () => {
    app.started = 'popup'
    void app.codeOf(auth.signIn({ mode: 'popup' })).then((code) => {
      app.started = code
    })
  })
  document.querySelector('#redirect')?.addEventListener('click', () => void auth.signIn())
  return {
    auth,
    twin,
    started: '',
    twinStarted: '',
    events,
    told,
    ahead,
    async call() {
      try {
        const response = await auth.fetch('/api/parent_agents/search', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: '{"limit":1,"offset":0}',
        })
        return response.status
      } catch (error) {
        return codeOf(error)
      }
    },
    codeOf: (work) => work.then(() => 'resolved', codeOf),
  }
}

function codeOf(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: unknown }
  return String(code ?? name)
}

const app = start()
window.app = app

/** Twice, as a framework's development mode does; an app that guards its pages signs in by itself. */
async function begin(auth: BrowserAuth): Promise<string> {
  const both = await Promise.all([0, 1].map(() => app.codeOf(auth.ready())))
  if (both[0] !== both[1]) return `unequal: ${both}`
  const { status } = auth.session.state
  if (window.guardStopped && status === 'signed-out') {
    const code = await app.codeOf(auth.signIn())
    if (code !== 'resolved') window.guardStopped(code)
  }
  return both[0] === 'resolved' ? status : String(both[0])
}

if (window.start !== 'without ready()') {
  void begin(app.auth).then((result) => {
    app.started = result
  })
  if (app.twin)
    void begin(app.twin).then((result) => {
      app.twinStarted = result
    })
}
