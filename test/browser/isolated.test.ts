// @module-tag chromium

import { createServer, type RequestListener } from 'node:http'
import { fileURLToPath } from 'node:url'
import type { BrowserContext, Page } from 'playwright-core'
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { leaks } from '../support/canary.ts'
import { listen } from '../support/listen.ts'
import { serverUrl } from '../support/servers-client.ts'
import { dumpDatabase } from './database.ts'
import type {} from './isolated-app.ts'
import { configured, isolatedScripts, type WorkerOptions, workerPath } from './isolated-scripts.ts'
import { browserRig, call, fillForms, started, statusOf, untilStatus, untilTrue } from './rig.ts'

const rig = browserRig()
let scripts: Awaited<ReturnType<typeof isolatedScripts>>
beforeAll(async () => {
  scripts = await isolatedScripts()
})
beforeEach(() => serve())

/** Serves the isolated app in place of the other one, with these options of its worker. */
const serve = (options?: WorkerOptions): void => void Object.assign(rig.app.scripts, scripts(rig.service, options))

/** Opens a page of the app and signs in. */
async function signedIn(context: BrowserContext, options?: WorkerOptions): Promise<Page> {
  serve(options)
  const page = await rig.open(context, `/${options?.kind ?? 'memory'}/home`)
  await signIn(page)
  return page
}

/** Does not wait for the answer of the page, which may leave before it. */
async function signIn(page: Page): Promise<void> {
  await page.evaluate(() => {
    window.app.started = ''
    void window.isolated.signIn()
  })
  await untilTrue(page, () => window.app?.started === 'signed-in')
}

const signOut = (page: Page): Promise<string> => page.evaluate(() => window.app.codeOf(window.isolated.signOut()))

/** Notes all messages between page and worker, and all headers that the page sets or sends. */
async function tap(context: BrowserContext): Promise<void> {
  await context.addInitScript(() => {
    const seen: string[] = []
    // The page has the code in its address before the worker gets it.
    const note = (value: unknown): void => void seen.push(JSON.stringify(value).replace(/code=[^&"]+/, ''))
    const { postMessage } = Worker.prototype
    Worker.prototype.postMessage = function (...given: [never]) {
      note(given)
      return postMessage.apply(this, given)
    }
    window.Worker = class extends Worker {
      constructor(...given: ConstructorParameters<typeof Worker>) {
        super(...given)
        this.addEventListener('message', ({ data }) => note(data))
      }
    }
    const { fetch } = window
    window.fetch = (input, init) => {
      note([String(input), [...new Headers(init?.headers)]])
      return fetch(input, init)
    }
    const { set } = Headers.prototype
    Headers.prototype.set = function (...given) {
      note(given)
      return set.apply(this, given)
    }
    Object.assign(window, { seen })
  })
}

const seenBy = (page: Page): Promise<string[]> =>
  page.evaluate(() => [
    ...(window as unknown as { seen: string[] }).seen,
    ...[sessionStorage, localStorage].flatMap((area) => Object.values(area) as string[]),
  ])

describe.each(['memory', 'indexed'] as const)('tokens in a worker with the storage "%s"', (kind) => {
  it('are refreshed once for 50 calls, and a sign-out reaches the other tab', async () => {
    const context = await rig.context()
    const page = await signedIn(context, { kind })
    expect(await page.evaluate(() => window.isolated.session.claims?.subject)).toBeTruthy()
    expect(new URL(page.url()).pathname).toBe(`/${kind}/home`)
    const other = await rig.open(context, `/${kind}/home`)
    if (kind === 'memory') await signIn(other)
    await rig.service.dev.expireAccessTokens()
    const calls = await page.evaluate(() => Promise.all(Array.from({ length: 50 }, () => window.app.call())))
    expect(calls).toEqual(Array.from({ length: 50 }, () => 200))
    expect(rig.tokenRequests('refresh_token')).toBe(1)
    expect(await signOut(page)).toBe('resolved')
    expect(await call(page)).toBe('login_required')
    await untilStatus(other, 'signed-out')
    expect(await call(other)).toBe('login_required')
  })

  it(kind === 'memory' ? 'end with a reload' : 'last over a reload, and six tabs refresh them once', async () => {
    const context = await rig.context()
    const page = await signedIn(context, { kind })
    await page.reload()
    expect(await started(page)).toBe(kind === 'memory' ? 'signed-out' : 'signed-in')
    if (kind === 'memory') return
    const pages = [page]
    for (let more = 0; more < 5; more++) pages.push(await rig.open(context, `/${kind}/home`))
    await rig.service.dev.expireAccessTokens()
    expect(await Promise.all(pages.map(call))).toEqual(pages.map(() => 200))
    expect(rig.tokenRequests('refresh_token')).toBe(1)
  })

  it(`are in no message, header or storage of the page${kind === 'memory' ? '' : ', but its script can decrypt the record'}`, async () => {
    const context = await rig.context()
    await tap(context)
    const page = await signedIn(context, { kind })
    await rig.service.dev.expireAccessTokens()
    expect(await call(page)).toBe(200)
    const { text, keys, opened } = await page.evaluate(dumpDatabase)
    const seen = await seenBy(page)
    expect(seen.join()).toMatch(/"call":"finish".*"state":.*"call":"fetch"/)
    expect([...seen, text].flatMap((each) => leaks(each))).toEqual([])
    expect(keys.every(({ extractable }) => !extractable)).toBe(true)
    expect(opened.flatMap((each) => leaks(each)).length > 0).toBe(kind === 'indexed')
    expect(await page.evaluate(() => Object.keys(window.isolated.session))).toEqual(['getSnapshot', 'subscribe'])
  })
})

it('a page that is shown again reads the storage of its worker', async () => {
  const page = await signedIn(await rig.context(), { kind: 'indexed' })
  await page.evaluate(async () => {
    const opened = indexedDB.open('agent-auth')
    await new Promise((resolve) => Object.assign(opened, { onsuccess: resolve }))
    const transaction = opened.result.transaction('records', 'readwrite')
    transaction.objectStore('records').clear()
    await new Promise((resolve) => Object.assign(transaction, { oncomplete: resolve }))
    opened.result.close()
    document.dispatchEvent(new Event('visibilitychange'))
  })
  await untilStatus(page, 'signed-out')
})

it('a denied login rejects with its code, and the next login leads to its return URL', async () => {
  rig.service.dev.autoApprove(undefined)
  const page = await rig.open(await rig.context(), '/memory/wanted?a=1')
  await page.evaluate(() => void window.isolated.signIn())
  await fillForms(page, rig.service, 'deny')
  await page.waitForURL(`${rig.origin}/memory/callback`)
  expect(await started(page)).toBe('login_denied')
  rig.service.dev.autoApprove('ada@demo.example')
  await signIn(page)
  expect(page.url()).toBe(`${rig.origin}/memory/wanted?a=1`)
})

describe('a request', () => {
  /** A signed-in page of an API that answers with this listener. */
  async function pageOf(listener: RequestListener): Promise<Page> {
    const server = createServer((request, response) => {
      for (const what of ['allow-origin', 'allow-methods', 'expose-headers'])
        response.setHeader(`access-control-${what}`, '*')
      response.setHeader('access-control-allow-headers', 'authorization, content-type')
      if (request.method === 'OPTIONS') response.end()
      else listener(request, response)
    })
    const baseUrl = `http://127.0.0.1:${await listen(server)}`
    onTestFinished(() => {
      server.close()
      server.closeAllConnections()
    })
    return signedIn(await rig.context(), { baseUrl })
  }

  it('arrives with its method, headers and bytes, and its response is that of fetch', async () => {
    const page = await pageOf(async (request, response) => {
      const body: Buffer[] = []
      for await (const chunk of request) body.push(chunk)
      const { method, url, headers } = request
      if (url === '/none') return void response.writeHead(204).end()
      const bytes = Buffer.concat(body).toString('base64')
      const isSigned = /^Bearer ./.test(headers.authorization ?? '')
      response.writeHead(201, { 'x-extra': 'yes' })
      response.end(JSON.stringify([method, url, headers['content-type'], bytes, isSigned]))
    })
    const seen = await page.evaluate(async () => {
      const { fetch } = window.isolated
      const bytes = new Uint8Array([0, 255, 13])
      const form = new FormData()
      form.set('file', new Blob([bytes]), 'a.bin')
      const none = await fetch('/none', { method: 'DELETE' })
      const text = await fetch('text?a=b', { method: 'PUT', body: 'ä' })
      const { status, ok, url, redirected, type, headers } = text
      const request = new Request(new URL('/bytes', url), { method: 'POST', body: bytes })
      return {
        text: [status, ok, new URL(url).pathname, redirected, type, headers.get('x-extra'), await text.json()],
        bytes: await (await fetch(request)).json(),
        form: await (await fetch('/form', { method: 'POST', body: form })).json(),
        none: [none.status, none.body],
      }
    })
    expect(seen).toEqual({
      text: [201, true, '/text', false, 'cors', 'yes', ['PUT', '/text?a=b', 'text/plain;charset=UTF-8', 'w6Q=', true]],
      bytes: ['POST', '/bytes', null, 'AP8N', true],
      form: ['POST', '/form', expect.stringMatching(/^multipart.*boundary=/), expect.stringMatching(/^LS0/), true],
      none: [204, null],
    })
  })

  it('gets its response in parts, as far as the page reads, until it cancels or aborts', async () => {
    const closed: (string | undefined)[] = []
    let sentBytes = 0
    const page = await pageOf((request, response) => {
      response.on('close', () => closed.push(request.url))
      response.write('first')
      if (request.url !== '/endless') return
      const chunk = Buffer.alloc(65_536)
      const write = (): void => {
        while (!response.destroyed && response.write(chunk)) sentBytes += chunk.length
      }
      response.on('drain', write)
      write()
    })
    const first = await page.evaluate(async () => {
      const { body } = await window.isolated.fetch('/slow')
      const reader = body?.getReader()
      const { value } = (await reader?.read()) ?? {}
      await reader?.cancel()
      return new TextDecoder().decode(value)
    })
    expect(first).toBe('first')
    await expect.poll(() => closed).toEqual(['/slow'])
    const aborted = await page.evaluate(async () => {
      const controller = new AbortController()
      const { body } = await window.isolated.fetch('/endless', { signal: controller.signal })
      const reader = body?.getReader() as ReadableStreamDefaultReader<Uint8Array>
      // Several times as much as the worker sends ahead.
      for (let readBytes = 0; readBytes < 2_000_000; ) readBytes += (await reader.read()).value?.byteLength ?? 0
      await new Promise((resolve) => setTimeout(resolve, 300))
      controller.abort(new Error('enough'))
      // What was there is read first.
      for (let reads = 0; reads < 100; reads++) {
        const reason = await reader.read().then(
          () => '',
          ({ message }: Error) => message,
        )
        if (reason) return reason
      }
      return 'no end'
    })
    expect(aborted).toBe('enough')
    await expect.poll(() => closed).toEqual(['/slow', '/endless'])
    // Sockets and the browser keep some.
    expect(sentBytes).toBeLessThan(32_000_000)
  })

  it('that is aborted before its response rejects with the reason, and ends at the API', async () => {
    const seen: string[] = []
    const page = await pageOf((_, response) => {
      seen.push('begun')
      response.on('close', () => seen.push('closed'))
    })
    const reason = page.evaluate(() => {
      const controller = new AbortController()
      Object.assign(window, { abort: () => controller.abort(new Error('left')) })
      return window.isolated.fetch('/slow', { signal: controller.signal }).catch(({ message }: Error) => message)
    })
    await expect.poll(() => seen).toEqual(['begun'])
    await page.evaluate(() => (window as unknown as { abort(): void }).abort())
    expect(await reason).toBe('left')
    await expect.poll(() => seen).toEqual(['begun', 'closed'])
    const before = () => window.isolated.fetch('/', { signal: AbortSignal.abort() }).catch(({ name }: Error) => name)
    expect(await page.evaluate(before)).toBe('AbortError')
    expect(seen).toHaveLength(2)
  })

  it('elsewhere is sent by the page under its policy, and refused by the worker', async () => {
    // Not watched, because the page violates its policy.
    const context = await rig.browser.newContext()
    onTestFinished(() => context.close())
    const page = await signedIn(context)
    const outcome = await page.evaluate(async () => {
      const violated = new Promise<string>((resolve) => {
        document.addEventListener('securitypolicyviolation', (event) => resolve(event.violatedDirective))
      })
      const byPage = await window.isolated.fetch('http://127.0.0.1:1/').catch(({ name }: Error) => name)
      const worker = new Worker(new URL('/isolated-worker.ts', location.href), { type: 'module' })
      const byWorker = await new Promise((resolve) => {
        worker.onmessage = ({ data }) => {
          if (data.id === 0) worker.postMessage({ id: 1, call: 'fetch', given: ['http://127.0.0.1:1/', {}] })
          if (data.id === 1) resolve(data.error.code)
        }
      })
      return [byPage, await violated, byWorker]
    })
    expect(outcome).toEqual(['TypeError', 'connect-src', 'origin_forbidden'])
  })
})

it.each([
  ['is missing', () => delete rig.app.scripts[workerPath]],
  ['fails', () => Object.assign(rig.app.scripts, { [workerPath]: 'throw new Error("of the app")' })],
  ['has an invalid option', () => serve({ timeoutMs: -1 })],
])('if the worker %s, calls reject with config_invalid, and the next one starts it again', async (_, spoil) => {
  spoil()
  const page = await rig.open(await rig.context(), '/memory/home')
  expect(await started(page)).toBe('config_invalid')
  expect(await call(page)).toBe('config_invalid')
  serve()
  expect(await call(page)).toBe('login_required')
  await signIn(page)
  expect(await statusOf(page)).toBe('signed-in')
})

it('Vite finds the file of the worker and builds it', async () => {
  const { build } = await import('vite')
  const folder = await serverUrl('package')
  const built = await build({
    configFile: false,
    root: fileURLToPath(new URL('.', import.meta.url)),
    logLevel: 'error',
    resolve: { alias: [{ find: /^agent-auth\/(.*)$/, replacement: `${folder}/$1.js` }] },
    worker: { format: 'es' },
    build: { write: false, modulePreload: false, rollupOptions: { input: 'isolated-app.ts' } },
  })
  for (const { output } of [built].flat() as { output: { fileName: string; code?: string; source?: unknown }[] }[])
    for (const { fileName, code, source } of output) {
      const script = code ?? String(source)
      const isWorker = fileName.includes('worker')
      rig.app.scripts[isWorker ? `/${fileName}` : '/app.js'] = isWorker ? configured(script, rig.service) : script
    }
  delete rig.app.scripts[workerPath]
  const page = await rig.open(await rig.context(), '/memory/home')
  await signIn(page)
  expect(await call(page)).toBe(200)
  expect(rig.app.asked.filter((url) => url.includes('worker')).at(-1)).toMatch(/\/assets\/isolated-worker-.*\.js$/)
})
