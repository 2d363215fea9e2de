import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { createAuthConfig, createSession, exchangeCode, readCallback, startLogin } from 'agent-auth'
import type { BackendOptions } from 'agent-auth/backend'
import { type Service, startService } from 'agent-service'
import { backendContext } from '../../src/backend/context.ts'
import { newSessionId, sessionKey } from '../../src/backend/cookies/session-cookie.ts'
import { guard, searchPath, secrets } from './backend-rig.ts'
import { type AtEnd, nextWord, startChildren } from './children.ts'
import { connectTo } from './shared-stores.ts'

/** The settings of a child process. */
export interface BackendTask {
  readonly kind: 'redis' | 'postgres'
  readonly url: string
  readonly prefix: string
  readonly options: Omit<BackendOptions, 'sessions'>
}

export interface BackendProcesses {
  readonly service: Service
  readonly children: readonly ChildProcess[]
  /** Calls the API as a user through one of the processes, and returns the status. */
  call(process: number, person: number): Promise<number>
  refreshes(): number
}

/** One backend in several processes on real ports, a real service, and signed-in users. */
export async function backendProcesses(
  atEnd: AtEnd,
  { kind, url, processes, people }: Pick<BackendTask, 'kind' | 'url'> & { processes: number; people: number },
): Promise<BackendProcesses> {
  const redirectUri = 'https://app.demo.example/auth/callback'
  const service = await startService({ dev: 'on', authPort: 0, basePort: 0, redirectUris: [redirectUri] })
  atEnd(() => service.close())
  const clientId = service.clients.find(({ name }) => name === 'Demo public')?.clientId ?? ''
  const { authUrl, baseUrl } = service
  // A process that is stopped for longer than the leases last has not timed out.
  const timeoutMs = 60_000
  const options = { timeoutMs, authUrl, baseUrl, clientId, redirectUri, secrets, proxy: [`POST ${searchPath}`] }
  const task: BackendTask = { kind, url, prefix: randomUUID(), options }
  const cookies = await signPeopleIn(service, task, people)
  const children = await startChildren(atEnd, 'backend-child.ts', [JSON.stringify(task)], processes)
  const ports = await Promise.all(children.map(nextWord))
  return {
    service,
    children,
    async call(process, person) {
      const headers = { ...guard, 'content-type': 'application/json', cookie: cookies[person] ?? '' }
      const target = `http://127.0.0.1:${ports[process]}${searchPath}`
      const answered = await fetch(target, { method: 'POST', headers, body: '{}' })
      await answered.arrayBuffer()
      return answered.status
    },
    refreshes: () =>
      service.dev.journal().filter((entry) => entry.kind === 'request' && entry.grantType === 'refresh_token').length,
  }
}

async function signPeopleIn(service: Service, task: BackendTask, people: number): Promise<string[]> {
  service.dev.autoApprove(service.people.find(({ tenant }) => tenant === 'demo')?.email)
  const { storage, close } = await connectTo(task.kind, task.url, task.prefix)
  const context = backendContext({ ...task.options, sessions: storage })
  const { authUrl, baseUrl, clientId, redirectUri } = task.options
  const config = createAuthConfig({ authUrl, baseUrl, clientId, redirectUri })
  const cookies: string[] = []
  for (let person = 0; person < people; person++) {
    const { url, pending } = await startLogin(config)
    const answered = await fetch(url, { redirect: 'manual' })
    const grant = readCallback(pending, answered.headers.get('location') ?? '')
    const id = newSessionId(context)
    const session = createSession(config, { storage, key: await sessionKey(context, id) })
    await session.signIn(await exchangeCode(config, grant))
    cookies.push(`${context.sessionCookie.name}=${id}`)
  }
  await close()
  return cookies
}
