import type { BrowserContext, Page, Request } from 'playwright-core'
import { expect } from 'vitest'
import { leaks, registerSecret } from '../support/canary.ts'

export interface Watch {
  /** Fails on a violation of the policy, an uncaught error, or a secret where none may be; then closes the context. */
  end(): Promise<void>
}

interface Origins {
  readonly app: string
  readonly tokenEndpoint: string
}

const recordKey = /^agent-auth:http/

/** Looks over a whole browser profile: DOM, address, history, storage, channels, referrers and console of every page. */
export async function watchContext(context: BrowserContext, origins: Origins): Promise<Watch> {
  const seen: { where: string; text: string }[] = []
  const problems: string[] = []
  const note = (where: string, text: string): void => void seen.push({ where, text })
  context.setDefaultTimeout(90_000)
  await context.addInitScript(tapChannels)
  await context.exposeBinding('noteMessage', (_, message: string) => note('channel', message))
  context.on('console', (message) => {
    note('console', message.text())
    if (/Content Security Policy|TrustedHTML/.test(message.text())) problems.push(message.text())
  })
  context.on('weberror', (error) => {
    if (error.page()?.url().startsWith(origins.app)) problems.push(`uncaught: ${error.error().message}`)
  })
  context.on('request', (request) => noteRequest(request, origins, note))
  const answers: Promise<void>[] = []
  context.on('response', (response) => {
    if (response.url().startsWith(origins.tokenEndpoint))
      answers.push(response.text().then(registerTokens, () => undefined))
  })
  const check = (): void => {
    expect(problems).toEqual([])
    expect(seen.flatMap(({ where, text }) => leaks(text, where))).toEqual([])
  }
  return {
    async end() {
      for (const page of context.pages()) if (page.url().startsWith(origins.app)) await look(page, note, problems)
      await Promise.all(answers)
      // While the context is open, so that a failure keeps it, and once more for what comes while it closes.
      check()
      await context.close()
      check()
    },
  }
}

/** Everything that goes over a channel, as text; of a popup's hand-over the one thing that may be there is left out. */
function tapChannels(): void {
  const { postMessage } = BroadcastChannel.prototype
  BroadcastChannel.prototype.postMessage = function (message: unknown) {
    const text = JSON.stringify(message, (key, value) => (key === 'search' ? value.replace(/\bcode=[^&]*/, '') : value))
    ;(window as unknown as { noteMessage(text: string): void }).noteMessage(text)
    return postMessage.call(this, message)
  }
}

function noteRequest(
  request: Request,
  { app, tokenEndpoint }: Origins,
  note: (where: string, text: string) => void,
): void {
  const { referer = '' } = request.headers()
  // What the callback page's own HTML loads from its own server comes before any script can hide the address.
  if (!request.url().startsWith(app)) note('referrer', referer)
  if (request.url().startsWith(tokenEndpoint)) registerSent(request.postData() ?? '')
  // The redirect back is where the code has to be.
  if (!(request.isNavigationRequest() && request.url().startsWith(app))) note('URL', request.url())
}

function registerSent(body: string): void {
  const parameters = body.startsWith('{') ? Object.entries(JSON.parse(body) as object) : [...new URLSearchParams(body)]
  for (const [name, value] of parameters)
    if (/^(code|code_verifier|refresh_token)$/.test(name)) registerSecret(name, String(value))
}

function registerTokens(body: string): void {
  try {
    for (const [name, value] of Object.entries(JSON.parse(body) as object))
      if (/^(access|refresh)_token$/.test(name)) registerSecret(name, String(value))
  } catch {
    // An answer that is not JSON, or was lost, holds no token.
  }
}

async function look(page: Page, note: (where: string, text: string) => void, problems: string[]): Promise<void> {
  const found = await page.evaluate(() => ({
    DOM: document.documentElement.outerHTML,
    address: location.href,
    history: JSON.stringify(history.state),
    name: window.name,
    cookie: document.cookie,
    events: JSON.stringify(window.app?.events ?? []),
    violations: window.violations ?? [],
    items: ['sessionStorage', 'localStorage'].flatMap((area) => {
      try {
        return Object.entries(window[area as 'localStorage'])
      } catch {
        // A test has blocked it.
        return []
      }
    }),
  }))
  for (const [where, text] of Object.entries(found)) if (typeof text === 'string') note(where, text)
  for (const [key, value] of found.items) {
    note('storage key', key)
    if (!recordKey.test(key)) note(`storage of ${key}`, value)
  }
  problems.push(...found.violations)
}
