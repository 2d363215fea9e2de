import { type AppBrowser, type BackendRig, guard, type RigOptions } from './backend-rig.ts'
import { rigOf } from './rig-of.ts'

const proxy = ['GET /api/items/:id', 'GET /api/items/:id/parts/:part', 'POST /api/items', 'PUT /api/items/:id']

export interface ProxyRig extends BackendRig {
  readonly person: AppBrowser
  /** The requests that reached the API. */
  readonly seen: Request[]
  get(path: string, init?: RequestInit): Promise<Response>
}

/** A signed-in user in front of an API whose responses the test chooses. */
export async function proxyRig(
  answer: (request: Request) => Response | Promise<Response> = () => Response.json({}),
  options: RigOptions = {},
): Promise<ProxyRig> {
  const seen: Request[] = []
  const api = (request: Request): Response | Promise<Response> => {
    seen.push(request)
    return answer(request)
  }
  const rig = await rigOf({ api, ...options, backend: { proxy, ...options.backend } })
  const person = rig.browser()
  await person.logIn()
  const get = (path: string, init: RequestInit = {}): Promise<Response> =>
    person.send(path, { ...init, headers: { ...guard, ...(init.headers as Record<string, string>) } })
  return { ...rig, person, seen, get }
}
