// A service worker of the user's own that holds the requests whose path it was told, until it is told to let them go.

interface FetchEvent extends Event {
  readonly request: Request
  respondWith(response: Promise<Response>): void
}

interface Worker extends EventTarget {
  readonly clients: { claim(): Promise<void> }
  skipWaiting(): Promise<void>
}

export type HoldingMessage = { readonly hold: string } | 'let go'

const worker = globalThis as unknown as Worker
let held: string | undefined
let letGo = (): void => {}
let released: Promise<void> = Promise.resolve()

worker.addEventListener('install', () => void worker.skipWaiting())
worker.addEventListener('activate', () => void worker.clients.claim())
worker.addEventListener('message', (event) => {
  const { data, ports } = event as MessageEvent<HoldingMessage>
  if (data === 'let go') {
    held = undefined
    letGo()
  } else {
    held = data.hold
    released = new Promise((resolve) => {
      letGo = resolve
    })
  }
  ports[0]?.postMessage('done')
})
worker.addEventListener('fetch', (happened) => {
  const event = happened as FetchEvent
  const { request } = event
  if (new URL(request.url).pathname !== held) return
  event.respondWith(released.then(() => fetch(request)))
})
