import { createService, type Service, type ServiceOptions } from 'agent-service'
import { listen, stop } from '../../../service/src/server/listener.ts'
import type { AtEnd } from '../../support/children.ts'
import { lineRecorder } from './lines.ts'
import type { Write } from './recorder.ts'

export interface RecordedService {
  readonly service: Service
  readonly config: { authUrl: string; baseUrl: string; clientId: string; redirectUri: string; timeoutMs: number }
  readonly people: readonly string[]
  /** Resolves when a refresh of such a process was answered a moment before, or after two seconds. */
  refreshed(isOf?: (process: string) => boolean): Promise<void>
}

const redirectUri = 'https://app.demo.example/callback'

/** A real service in this process, behind its own listener, which records what each token request was answered with. */
export async function recordedService(
  atEnd: AtEnd,
  write: Write,
  options: Pick<ServiceOptions, 'graceMs' | 'accessTokenLifeMs'>,
): Promise<RecordedService> {
  const listeners = new Set<(process: string) => void>()
  const line = lineRecorder(write)
  const { server, url: authUrl, serve } = await listen(0, { origin: 'auth' })
  atEnd(() => {
    server.closeAllConnections()
    return stop(server)
  })
  // Only the authorization server takes part.
  const service = await createService({ dev: 'on', authUrl, baseUrl: 'http://127.0.0.1:9', ...options })
  atEnd(() => service.close())
  const inTurn = oneAtATime()
  async function answer(incoming: Request): Promise<Response> {
    const { url, method, headers } = incoming
    const body = await incoming.text()
    // The request of the listener is no Request that fetch takes.
    const request = new Request(url, { method, headers, ...(body === '' ? {} : { body }) })
    const person = headers.get('x-person')
    if (person !== null)
      return inTurn(async () => {
        service.dev.autoApprove(person)
        return service.fetch(request)
      })
    const response = await service.fetch(request)
    const grant = await line(body, response.clone(), headers)
    if (grant === 'refresh') for (const listener of listeners) listener(headers.get('x-process') ?? '')
    return response
  }
  serve({ fetch: answer })
  const clientId = service.clients.find(({ name }) => name === 'Demo public')?.clientId ?? ''
  return {
    service,
    config: { authUrl, baseUrl: service.baseUrl, clientId, redirectUri, timeoutMs: 10_000 },
    people: service.people.filter(({ tenant }) => tenant === 'demo').map(({ email }) => email),
    refreshed: (isOf = () => true) =>
      new Promise((resolve) => {
        const done = (): void => {
          clearTimeout(patience)
          listeners.delete(listener)
          resolve()
        }
        const listener = (process: string): void => {
          if (isOf(process)) done()
        }
        const patience = setTimeout(done, 2_000)
        listeners.add(listener)
      }),
  }
}

/** The user of the automatic approval is one for the whole service. */
function oneAtATime(): <Result>(task: () => Promise<Result>) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve()
  return (task) => {
    const result = last.then(task)
    last = result.catch(() => {})
    return result
  }
}
