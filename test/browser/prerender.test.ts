// @module-tag chromium

import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { it } from 'vitest'
import type { AtEnd } from '../support/children.ts'
import { findChromium } from '../support/chromium.ts'
import { listen } from '../support/listen.ts'
import { buildScript } from './built-app.ts'
import type { Kind } from './kinds.ts'
import type {} from './page-app.ts'

// Playwright turns prerendering off. So Chromium is started without it, and the pages tell the server what they see.

interface Report {
  readonly page: string
  /** How far the app was when the prerendered page was shown. */
  readonly prerendered: string
  readonly started: string
  readonly token: string
}

/** Runs in every page, after the app. */
async function run(): Promise<void> {
  let prerendered = 'not prerendered'
  const { session } = window.app.auth
  const started = new Promise<string>((resolve) => {
    const timer = setInterval(() => {
      if (window.app.started === '') return
      clearInterval(timer)
      resolve(window.app.started)
    }, 20)
  })
  const shown = new Promise<void>((resolve) => {
    if (!('prerendering' in document && document.prerendering)) return resolve()
    document.addEventListener('prerenderingchange', () => {
      prerendered = window.app.started || 'not started'
      resolve()
    })
  })
  const tell = async (): Promise<void> => {
    await shown
    const report: Report = {
      page: location.pathname.split('/')[2] ?? '',
      prerendered,
      started: await started,
      token: await session.getAccessToken().catch(({ code }: { code: string }) => code),
    }
    await fetch('/report', { method: 'POST', body: JSON.stringify(report) })
  }
  if (location.pathname.endsWith('/first')) {
    await started
    await session.signIn({ accessToken: 'of-the-first', refreshToken: 'r', obtainedAtMs: Date.now() })
    const rules = document.createElement('script')
    rules.type = 'speculationrules'
    const next = location.pathname.replace('first', 'second')
    rules.textContent = JSON.stringify({ prerender: [{ source: 'list', urls: [next], eagerness: 'immediate' }] })
    document.head.append(rules)
    // The server responds once the prerendered page has begun; then that waits longer than a tab waits for its name.
    await fetch('/prerendered')
    setTimeout(() => location.assign(next), 4_500)
  } else if (location.pathname.endsWith('/second')) {
    await fetch('/prerendered', { method: 'POST' })
    await tell()
    window.open(location.pathname.replace('second', 'copy'))
  } else {
    await tell()
  }
}

/** Returns the origin of a server that ends with the test. */
async function serve(atEnd: AtEnd, told: (report: Report) => void): Promise<string> {
  const script = await buildScript('page-app.ts')
  const config = { authUrl: 'https://auth.example.com', baseUrl: 'https://api.example.com', clientId: 'app' }
  let begun = (): void => {}
  const isBegun = new Promise<void>((resolve) => {
    begun = resolve
  })
  const server = createServer(async (request, response) => {
    if (request.url === '/prerendered') {
      if (request.method === 'POST') begun()
      await isBegun
      response.end()
    } else if (request.method === 'POST') {
      told(JSON.parse(await text(request)) as Report)
      response.end()
    } else if (request.url === '/app.js') response.setHeader('content-type', 'text/javascript').end(script)
    else
      response.setHeader('content-type', 'text/html').end(`<!doctype html><title>App</title>
<script type="application/json" id="config">${JSON.stringify(config)}</script>
<script type="module" src="/app.js"></script><script type="module">(${run})()</script>`)
  })
  atEnd(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${await listen(server)}`
}

/** A Chromium of its own, which opens the address and is closed after the test. */
async function openChromium(atEnd: AtEnd, address: string): Promise<void> {
  const profile = await mkdtemp(join(tmpdir(), 'agent-auth-prerender-'))
  const args = [
    '--headless=new',
    '--disable-gpu',
    '--no-first-run',
    '--disable-popup-blocking',
    `--user-data-dir=${profile}`,
  ]
  if (process.getuid?.() === 0) args.push('--no-sandbox')
  const chromium = spawn(findChromium() ?? 'chromium', [...args, '--remote-debugging-port=0', address], {
    stdio: 'ignore',
  })
  atEnd(async () => {
    const exited = new Promise((resolve) => chromium.once('exit', resolve))
    chromium.kill()
    await exited
    await rm(profile, { recursive: true, force: true, maxRetries: 5 })
  })
}

it.concurrent.for<Kind>(['session', 'indexed'])(
  '%s: a prerendered page begins when it is shown: it has the session, and a copy of its tab has not',
  async (kind, { expect, onTestFinished }) => {
    const reports: Report[] = []
    const origin = await serve(onTestFinished, (report) => reports.push(report))
    await openChromium(onTestFinished, `${origin}/${kind}/first`)
    await expect.poll(() => reports.length).toBe(2)
    const signedIn = { started: 'signed-in', token: 'of-the-first' }
    const signedOut = { started: 'signed-out', token: 'login_required' }
    expect(reports).toEqual([
      { page: 'second', prerendered: 'not started', ...signedIn },
      { page: 'copy', prerendered: 'not prerendered', ...(kind === 'session' ? signedOut : signedIn) },
    ])
  },
)
