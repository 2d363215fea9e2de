import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Person } from 'agent-service'

/** A port from the command line, or undefined when it cannot be one. */
export function portFrom(text: string): number | undefined {
  const port = Number(text)
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined
}

/** Builds the JavaScript of the packages, which the examples use as they are published. */
export async function buildPackages(): Promise<void> {
  const build = spawn('npm', ['run', '--silent', 'build:js'], { stdio: ['ignore', 'ignore', 'inherit'] })
  const [code] = (await once(build, 'exit')) as [number | null]
  if (code !== 0) throw new Error('the packages could not be built')
}

/** Says where the example is and who can sign in. */
export function announce(origin: string, people: readonly Person[], more = ''): void {
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
