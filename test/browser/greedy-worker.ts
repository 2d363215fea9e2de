import { createBrowserAuth } from 'agent-auth/browser'
import type { PageConfig } from './kinds.ts'

// A service worker that answers from its cache what it can and keeps everything else it sees, but for what docs/browser.md says.

export interface WorkerConfig extends PageConfig {
  readonly redirectUri: string
  /** `nothing`: it keeps what the documents say to leave alone, too. */
  readonly leavesAlone: 'what the documents say' | 'nothing'
}

interface FetchEvent extends Event {
  readonly request: Request
  respondWith(response: Promise<Response>): void
}

interface Worker extends EventTarget {
  readonly config: WorkerConfig
  readonly clients: { claim(): Promise<void> }
  skipWaiting(): Promise<void>
}

const worker = globalThis as unknown as Worker
const { config } = worker
const { authUrl, baseUrl, clientId, redirectUri } = config
const auth = createBrowserAuth({ authUrl, baseUrl, clientId, redirectUri })

worker.addEventListener('install', () => void worker.skipWaiting())
worker.addEventListener('activate', () => void worker.clients.claim())
worker.addEventListener('fetch', (happened) => {
  const event = happened as FetchEvent
  const { request } = event
  if (config.leavesAlone === 'what the documents say') {
    const { url, headers } = event.request
    if (auth.isCallbackUrl(url) || url.startsWith(authUrl) || headers.has('authorization')) return // the browser sends it itself
  }
  event.respondWith(answer(request))
})

async function answer(request: Request): Promise<Response> {
  const cache = await caches.open('greedy')
  const known = await cache.match(request.url)
  if (known) return known
  const response = await fetch(request.clone())
  // A cache keeps GET alone; under the address of any other method this one keeps it all the same.
  const { url, headers } = request
  await cache.put(new Request(url, { headers }), new Response(await response.clone().text(), response))
  return response
}
