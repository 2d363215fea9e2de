// @module-tag chromium

import { createServer, type IncomingHttpHeaders } from 'node:http'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { createBearerFetch } from '../../src/bearer.ts'
import { sharedChromium } from '../support/chromium.ts'
import { listen } from '../support/listen.ts'

declare global {
  /** Of the bundles below. */
  const library: { createBearerFetch: typeof createBearerFetch }
}

interface Seen {
  readonly url: string
  readonly method: string
  readonly headers: IncomingHttpHeaders
}

/** The page's origin is the API's as well; `other` is elsewhere. */
const own = server()
const other = server()
const scripts: Record<string, string> = {}
let browser: Browser
let page: Page

beforeAll(async () => {
  scripts['/library.js'] = await bundled(`export { createBearerFetch } from './src/bearer.ts'`)
  scripts['/polyfilled.js'] = await bundled(
    `import { fetch, Headers, Request, Response } from 'whatwg-fetch'
     Object.assign(globalThis, { fetch, Headers, Request, Response })
     export { createBearerFetch } from './src/bearer.ts'`,
  )
  await Promise.all([own.start(), other.start()])
  browser = await sharedChromium()
})

afterAll(async () => {
  own.close()
  other.close()
})

afterEach(() => page.close())

async function open(script: 'library' | 'polyfilled'): Promise<void> {
  page = await browser.newPage()
  await page.goto(`${own.origin}/patients/4711?name=Jane&script=${script}`)
  own.seen.length = other.seen.length = 0
}

describe('a Request through the bearer fetch', () => {
  beforeEach(() => open('library'))

  it.each(['no-referrer', 'origin', 'unsafe-url'] as const)(
    'keeps its referrer policy in Chromium, in both sendings: %s',
    async (referrerPolicy) => {
      const { origin } = own
      const referers = await page.evaluate(async (referrerPolicy) => {
        await fetch(new Request('/api/plain', { referrerPolicy }))
        const tokens = { getAccessToken: async (of?: { rejected?: string }) => (of?.rejected ? 'new' : 'old') }
        const bearer = library.createBearerFetch(tokens, { baseUrl: `${location.origin}/api` })
        const url = `${location.origin}/api/bearer`
        await bearer(new Request(url, { referrerPolicy }))
        await bearer(new Request(url, { referrerPolicy, method: 'POST', body: 'x' }))
        return location.href
      }, referrerPolicy)
      const expected = { 'no-referrer': undefined, origin: `${origin}/`, 'unsafe-url': referers }[referrerPolicy]
      expect(own.seen.map(({ headers }) => headers.referer)).toEqual(Array(5).fill(expected))
    },
  )

  it('keeps an empty referrer in Chromium', async () => {
    await page.evaluate(async () => {
      const bearer = library.createBearerFetch('token', { baseUrl: `${location.origin}/api` })
      await bearer(new Request(`${location.origin}/api/bearer`, { referrer: '' }))
    })
    expect(own.seen.map(({ headers }) => headers.referer)).toEqual([undefined])
  })

  it('keeps all other members that Chromium shows of a Request', async () => {
    const [given, sent] = await page.evaluate(async () => {
      // No `mode: 'navigate'` can be made by a script; `priority` is not shown.
      const init = {
        method: 'POST',
        body: 'x',
        mode: 'same-origin',
        credentials: 'omit',
        cache: 'no-store',
        redirect: 'error',
        referrerPolicy: 'origin',
        integrity: 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=',
        keepalive: true,
        priority: 'low',
      } as RequestInit
      const shown = (request: Request): Record<string, unknown> => {
        const members: Record<string, unknown> = {}
        for (const name in request) {
          const value: unknown = Reflect.get(request, name)
          if (typeof value !== 'object' && typeof value !== 'function') members[name] = value
        }
        return members
      }
      const seen: Record<string, unknown>[] = []
      const bearer = library.createBearerFetch('token', {
        baseUrl: location.origin,
        fetch: async (input, init) => {
          seen.push(shown(new Request(input, init)))
          return new Response()
        },
      })
      const url = `${location.origin}/api/x`
      const before = shown(new Request(url, init))
      await bearer(new Request(url, init))
      return [before, seen[0]] as const
    })
    expect(sent).toEqual(given)
    expect(Object.keys(given)).toEqual(expect.arrayContaining(['referrer', 'keepalive', 'integrity', 'duplex']))
  })
})

describe('where whatwg-fetch is the fetch of the page', () => {
  beforeEach(() => open('polyfilled'))

  it('the token of a Request goes to the API and to no other origin', async () => {
    const codes = await page.evaluate(
      async ([api = '', elsewhere = '']) => {
        const baseUrl = `${api}/api`
        const bearer = library.createBearerFetch('token', { baseUrl })
        const strict = library.createBearerFetch('token', { baseUrl, elsewhere: 'reject' })
        const outcome = (call: Promise<Response>): Promise<unknown> =>
          call.then(
            ({ status }) => status,
            (error: { code?: string }) => error.code ?? String(error),
          )
        return [
          await outcome(bearer(new Request(`${elsewhere}/avatar.png`))),
          await outcome(strict(new Request(`${elsewhere}/avatar.png`))),
          await outcome(strict(new Request('/api/relative'))),
          await outcome(bearer(new Request(`${baseUrl}/agents`, { method: 'POST', body: 'x' }))),
        ]
      },
      [own.origin, other.origin],
    )
    expect(codes).toEqual([200, 'origin_forbidden', 'origin_forbidden', 401])
    expect(other.seen.map(({ url, headers }) => [url, headers.authorization])).toEqual([['/avatar.png', undefined]])
    expect(own.seen.map(({ method, url, headers }) => [method, url, headers.authorization])).toEqual([
      ['POST', '/api/agents', 'Bearer token'],
    ])
  })
})

function server(): { origin: string; seen: Seen[]; start(): Promise<void>; close(): void } {
  const seen: Seen[] = []
  const http = createServer(({ url = '', method = '', headers }, response) => {
    response.setHeader('access-control-allow-origin', '*')
    const script = scripts[url]
    if (script) return void response.writeHead(200, { 'content-type': 'text/javascript' }).end(script)
    if (url.startsWith('/patients')) {
      const name = new URL(url, self.origin).searchParams.get('script')
      return void response
        .writeHead(200, { 'content-type': 'text/html' })
        .end(`<link rel="icon" href="data:,"><script src="/${name}.js"></script>`)
    }
    seen.push({ url, method, headers })
    response.writeHead(headers.authorization ? 401 : 200).end()
  })
  const self = {
    origin: '',
    seen,
    async start() {
      self.origin = `http://127.0.0.1:${await listen(http)}`
    },
    close() {
      http.closeAllConnections()
      http.close()
    },
  }
  return self
}

async function bundled(contents: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: fileURLToPath(new URL('../../', import.meta.url)), loader: 'ts' },
    bundle: true,
    write: false,
    format: 'iife',
    globalName: 'library',
    platform: 'browser',
    target: 'es2022',
  })
  return outputFiles[0]?.text ?? ''
}
