import { fromJson, overJson, type Tab } from './engine.ts'

/** What a WebDriver answers an element with (w3c.github.io/webdriver, section 11). */
const elementKey = 'element-6066-11e4-a52e-4f735466cecf'
const pollMs = 20
const limitMs = 60_000

export type Send = <R = unknown>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: object) => Promise<R>

/** Commands to a WebDriver, the classic one over HTTP. */
export function webDriverAt(url: string): Send {
  return async <R>(method: string, path: string, body?: object) => {
    const response = await fetch(url + path, { method, ...(body && { body: JSON.stringify(body) }) })
    const { value } = (await response.json()) as { value: unknown }
    const { error, message } = (value ?? {}) as { error?: string; message?: string }
    if (!response.ok) throw new Error(`${method} ${path}: ${error} ${message}`)
    return value as R
  }
}

/** A session, whose commands all mean the window that was chosen last. */
export interface Windows {
  readonly send: Send
  /** Does work in a window while no other work is in the way. */
  inWindow<R>(handle: string, work: () => Promise<R>): Promise<R>
}

export function windowsOf(driver: Send, session: string): Windows {
  const send: Send = (method, path, body) => driver(method, `/session/${session}${path}`, body)
  let last: Promise<unknown> = Promise.resolve()
  return {
    send,
    inWindow(handle, work) {
      const done = last.then(async () => {
        await send('POST', '/window', { handle })
        return work()
      })
      last = done.catch(() => {})
      return done
    },
  }
}

export function tabOf({ send, inWindow }: Windows, handle: string): Tab {
  const post = <R>(path: string, body: object): Promise<R> => inWindow(handle, () => send<R>('POST', path, body))
  const toElement = (selector: string, action: string, body: object): Promise<void> =>
    inWindow(handle, async () => {
      const found = await send<Record<string, string>>('POST', '/element', { using: 'css selector', value: selector })
      await send('POST', `/element/${found[elementKey]}/${action}`, body)
    })
  const script = <R>(text: string, ...args: unknown[]): Promise<R> => post<R>('/execute/sync', { script: text, args })
  return {
    goto: (url) => post('/url', { url }),
    reload: () => post('/refresh', {}),
    back: () => post('/back', {}),
    async evaluate(run, ...args) {
      const name = `run${crypto.randomUUID()}`
      // Started, then looked at: what takes long must not hold up the other tabs.
      const start = `const run = window[arguments[0]] = {}
        ;(${overJson(run)})(arguments[1]).then((json) => { run.json = json ?? null }, (error) => { run.error = String(error) })`
      await script(start, name, JSON.stringify(args))
      const endMs = performance.now() + limitMs
      while (performance.now() < endMs) {
        const { json, error } = await script<{ json?: string | null; error?: string }>(
          'return window[arguments[0]] ?? { error: "the page is gone" }',
          name,
        )
        if (error !== undefined) throw new Error(error)
        if (json !== undefined) return fromJson(json)
        await new Promise((resolve) => setTimeout(resolve, pollMs))
      }
      throw new Error(`The page has not answered within ${limitMs} ms.`)
    },
    click: (selector) => toElement(selector, 'click', {}),
    fill: (selector, text) => toElement(selector, 'value', { text }),
    close: () => inWindow(handle, () => send('DELETE', '/window')),
  }
}
