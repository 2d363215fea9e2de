import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { createAuthConfig, createSession, exchangeCode, readCallback, startLogin } from 'agent-auth'
import type { BackendOptions } from 'agent-auth/backend'
import { type Service, startService } from 'agent-service'
import { backendContext } from '../../src/backend/context.ts'
import { newSessionId, sessionKey } from '../../src/backend/cookies.ts'
import { guard, searchPath, secrets } from './backend-rig.ts'
import { type AtEnd, nextWord, startChildren } from './children.ts'
import { onIoRedis } from './shared-stores.ts'

/** The settings of a child process. */
export interface BackendTask {
  /** Of the Redis that has the sessions. */
  readonly url: string
  readonly prefix: string
  readonly options: Omit<BackendOptions, 'sessions'>
}

export interface BackendProcesses {
  readonly service: Service
  readonly children: readonly ChildProcess[]
  /** Calls the API as a user through one of the processes, and returns the status. */
  call(process: number, person: number): Promise<number>
  /**
   * Lets one process refresh as a user, and keeps the response of the service from it until it gets the word `go`. Resolves when the
   * process has that response.
   */
  holdRefresh(
    process: number,
    person: number,
  ): Promise<{ child: ChildProcess; answered: Promise<number | 'no answer'> }>
  refreshes(): number
}

/** One backend in several processes on real ports, a real service, and signed-in users. */
export async function backendProcesses(
  atEnd: AtEnd,
  { url, processes, people }: { url: string; processes: number; people: number },
): Promise<BackendProcesses> {
  const redirectUri = 'https://app.demo.example/auth/callback'
  // The next process may ask late, after the lease of the one that died.
  const graceMs = 600_000
  const service = await startService({ dev: 'on', authPort: 0, basePort: 0, redirectUris: [redirectUri], graceMs })
  atEnd(() => service.close())
  const clientId = service.clients.find(({ name }) => name === 'Demo public')?.clientId ?? ''
  const { authUrl, baseUrl } = service
  // A process that is stopped for longer than the leases last has not timed out.
  const timeoutMs = 60_000
  const options = { timeoutMs, authUrl, baseUrl, clientId, redirectUri, secrets, proxy: [`POST ${searchPath}`] }
  const task: BackendTask = { url, prefix: randomUUID(), options }
  const cookies = await signPeopleIn(service, task, people)
  const children = await startChildren(atEnd, 'backend-child.ts', [JSON.stringify(task)], processes)
  const ports = await Promise.all(children.map(nextWord))
  async function call(process: number, person: number): Promise<number> {
    const headers = { ...guard, 'content-type': 'application/json', cookie: cookies[person] ?? '' }
    const target = `http://127.0.0.1:${ports[process]}${searchPath}`
    const answered = await fetch(target, { method: 'POST', headers, body: '{}' })
    await answered.arrayBuffer()
    return answered.status
  }
  return {
    service,
    children,
    call,
    async holdRefresh(process, person) {
      const child = children[process]
      if (!child) throw new Error('No such process.')
      await told(child, 'hold', 'holds')
      const served = heard(child, 'served')
      const answered = call(process, person).catch(() => 'no answer' as const)
      await served
      return { child, answered }
    },
    refreshes: () =>
      service.dev.journal().filter((entry) => entry.kind === 'request' && entry.grantType === 'refresh_token').length,
  }
}

/** Sends a word to a process, and resolves when it says the other. */
export async function told(child: ChildProcess, word: string, expected: string): Promise<void> {
  const said = heard(child, expected)
  child.send(word)
  await said
}

async function heard(child: ChildProcess, expected: string): Promise<void> {
  const said = await nextWord(child)
  if (said !== expected) throw new Error(`It said ${said} in place of ${expected}.`)
}

async function signPeopleIn(service: Service, task: BackendTask, people: number): Promise<string[]> {
  service.dev.autoApprove(service.people.find(({ tenant }) => tenant === 'demo')?.email)
  const { storage, close } = await onIoRedis(task.url, task.prefix)
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
