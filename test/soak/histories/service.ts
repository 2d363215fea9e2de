import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { createService, type Service, type ServiceOptions } from 'agent-service'
import type { AtEnd } from '../../support/children.ts'
import { listen } from '../../support/listen.ts'
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

/** A real service in this process. A server in front of it records what each token request was answered with. */
export async function recordedService(
  atEnd: AtEnd,
  write: Write,
  options: Pick<ServiceOptions, 'graceMs' | 'accessTokenLifeMs'>,
): Promise<RecordedService> {
  const listeners = new Set<(process: string) => void>()
  const line = lineRecorder(write)
  let answer: (request: Request, body: string) => Promise<Response> = async () => new Response(null, { status: 503 })
  const server = createServer((incoming, outgoing) => {
    serve(incoming, outgoing, (request, body) => answer(request, body)).catch(() => outgoing.destroy())
  })
  const authUrl = `http://127.0.0.1:${await listen(server)}`
  atEnd(() => closed(server))
  // Only the authorization server takes part.
  const service = await createService({ dev: 'on', authUrl, baseUrl: 'http://127.0.0.1:9', ...options })
  atEnd(() => service.close())
  const inTurn = oneAtATime()
  answer = async (request, body) => {
    const person = request.headers.get('x-person')
    if (person !== null)
      return inTurn(async () => {
        service.dev.autoApprove(person)
        return service.fetch(request)
      })
    const response = await service.fetch(request)
    const grant = await line(body, response.clone(), request.headers)
    if (grant === 'refresh') for (const listener of listeners) listener(request.headers.get('x-process') ?? '')
    return response
  }
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

async function serve(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  answer: (request: Request, body: string) => Promise<Response>,
): Promise<void> {
  const { method = 'GET', url, headers } = incoming
  const body = (await buffer(incoming)).toString()
  const sent = Object.entries(headers).filter(([name, value]) => name !== 'connection' && typeof value === 'string')
  const request = new Request(`http://${headers.host}${url}`, {
    method,
    headers: sent as [string, string][],
    ...(method === 'GET' ? {} : { body }),
  })
  const response = await answer(request, body)
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  outgoing.end(Buffer.from(await response.arrayBuffer()))
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

function closed(server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise((resolve) => server.close(() => resolve()))
}
