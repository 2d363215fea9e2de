import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Client, Service } from 'agent-service'

/** A port from the command line, or undefined when it cannot be one. */
export function portFrom(text: string): number | undefined {
  const port = Number(text)
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined
}

/** Rejects when nothing can listen on this port of 127.0.0.1, before anything is built or started. */
export async function checkPort(port: number): Promise<void> {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'EADDRINUSE') throw error
    throw new Error(`port ${port} is in use: stop what listens there, or choose another with -- --port N`)
  }
  server.close()
  await once(server, 'close')
}

/** The registration of the example among the service's clients. */
export function clientOf({ clients }: Service, kind: Client['kind']): Client {
  const client = clients.find((one) => one.kind === kind)
  if (!client) throw new Error(`the service has no ${kind} client`)
  return client
}

/** Builds the JavaScript of the packages, which the examples use as they are published. */
export async function buildPackages(): Promise<void> {
  process.stdout.write('Building the packages …\n')
  const build = spawn('npm', ['run', '--silent', 'build:js'], { stdio: ['ignore', 'ignore', 'inherit'] })
  const [code] = (await once(build, 'exit')) as [number | null]
  if (code !== 0) throw new Error('the packages could not be built')
}

/** Says where the example is and who can sign in: nobody of another tenant than the client's can. */
export function announce(origin: string, service: Service, { tenant }: Client, more = ''): void {
  const people = service.people.filter((person) => person.tenant === tenant)
  const width = Math.max(...people.map(({ email }) => email.length))
  const accounts = people.map(({ email, password, permissions }) => {
    return `  ${email.padEnd(width)}  ${password}  ${mayDo(permissions)}`
  })
  const text = [`${origin}/`, `${more}Sign in with one of these:\n${accounts.join('\n')}`, 'Stop with Ctrl-C.']
  process.stdout.write(`\n${text.join('\n\n')}\n`)
}

function mayDo(permissions: readonly string[]): string {
  if (!permissions.includes('api.access')) return 'signs in, but the API refuses'
  return permissions.includes('parent_agents.create') ? 'may read and create agents' : 'may read agents'
}

/** Resolves at Ctrl-C, and when the process is asked to end. */
export function untilStopped(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGINT', () => resolve())
    process.once('SIGTERM', () => resolve())
  })
}
