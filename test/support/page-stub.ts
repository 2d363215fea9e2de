import { onTestFinished, vi } from 'vitest'

export interface PageStub {
  /** Every request to the origin of the page or to another one, as `METHOD url`, with a trailing `*` if it has the header. */
  readonly requests: string[]
  /** The URLs that the page went to. */
  readonly visited: string[]
  /** Responds to the routes of the backend and all others. */
  respond: (path: string, request: Request) => Response | Promise<Response>
  isHidden: boolean
  /** What relative URLs are resolved against, as `<base href>` sets it. */
  base: string
  /** Dispatches an event at the window. */
  dispatch(type: string, members?: object): void
  /** How many requests went to the session route. */
  reads(): number
}

export const pageOrigin = 'https://app.example.com'

/** Makes the globals of this process those of a page, until the test ends. Its channels are Node's own. */
export function stubPage(respond: PageStub['respond']): PageStub {
  const target = new EventTarget()
  const requests: string[] = []
  const visited: string[] = []
  const page: PageStub = {
    requests,
    visited,
    respond,
    isHidden: false,
    base: `${pageOrigin}/agents`,
    dispatch: (type, members = {}) => void target.dispatchEvent(Object.assign(new Event(type), members)),
    reads: () => requests.filter((line) => line.includes('/session')).length,
  }
  const inPage = class extends Request {
    constructor(input: RequestInfo | URL, init?: RequestInit) {
      super(input instanceof Request ? input : new URL(String(input), page.base), init)
    }
  }
  const stubs = {
    document: {
      get hidden() {
        return page.isHidden
      },
    },
    location: {
      origin: pageOrigin,
      href: `${pageOrigin}/agents?page=2#top`,
      assign: (url: string) => void visited.push(new URL(url, page.base).href),
    },
    addEventListener: target.addEventListener.bind(target),
    Request: inPage,
    fetch: async (input: RequestInfo | URL, init?: RequestInit) => {
      const request = new inPage(input, init)
      const mark = request.headers.get('x-agent-auth') === '1' ? '*' : ''
      requests.push(`${request.method} ${request.url.replace(pageOrigin, '')}${mark}`)
      return page.respond(new URL(request.url).pathname, request)
    },
  }
  for (const [name, value] of Object.entries(stubs)) vi.stubGlobal(name, value)
  onTestFinished(() => {
    vi.unstubAllGlobals()
  })
  return page
}
