import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Bundle, bundleForNode } from '../../../test/support/bundle.ts'
import { freePort } from '../../../test/support/free-port.ts'
import { printed } from '../../../test/support/printed.ts'
import { tcpProxy } from '../../../test/support/tcp-proxy.ts'
import type { Service } from './login.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))

export interface ServiceProcess extends Service {
  /** SIGKILL, and waits until it is gone. */
  kill(): Promise<void>
  /** SIGTERM; its exit code and how long it took. */
  stop(): Promise<{ code: number | null; tookMs: number }>
}

export interface ProcessOptions {
  data: { dataFile: string } | { databaseUrl: string }
  authPort?: number
  basePort?: number
  authUrl?: string
  baseUrl?: string
  /** Default: `keyed`, because the slow hash of four people takes two seconds of the processor. */
  passwordScheme?: 'scrypt' | 'keyed'
  graceMs?: number
}

/** The command as one file, as it is shipped: it starts in a fraction of the time that the sources take. */
export async function bundleCommand(): Promise<Bundle> {
  const manifest = await readFile(join(root, 'service/package.json'), 'utf8')
  const { dependencies } = JSON.parse(manifest) as { dependencies: Record<string, string> }
  return bundleForNode({
    entryPoints: [join(root, 'service/src/cli/cli.ts')],
    external: Object.keys(dependencies),
  })
}

/** `agent-service --dev --json` in a process of its own, once it has printed its line. */
export async function startProcess(command: string, options: ProcessOptions): Promise<ServiceProcess> {
  const { data, authPort = 0, basePort = 0, authUrl, baseUrl, passwordScheme = 'keyed', graceMs } = options
  const args = ['--dev', '--json', '--auth-port', String(authPort), '--base-port', String(basePort)]
  args.push('--password-scheme', passwordScheme)
  if (graceMs !== undefined) args.push('--grace-ms', String(graceMs))
  if (authUrl !== undefined) args.push('--auth-url', authUrl)
  if (baseUrl !== undefined) args.push('--base-url', baseUrl)
  if ('dataFile' in data) args.push('--data', data.dataFile)
  const { DATABASE_URL: _, ...own } = process.env
  const env = 'databaseUrl' in data ? { ...own, DATABASE_URL: data.databaseUrl } : own
  const child = spawn(process.execPath, [command, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const started = await startedService(child)
  const exit = once(child, 'exit') as Promise<[number | null]>
  return {
    ...started,
    async kill() {
      child.kill('SIGKILL')
      await exit
    },
    async stop() {
      const startMs = performance.now()
      child.kill('SIGTERM')
      const [code] = await exit
      return { code, tookMs: performance.now() - startMs }
    },
  }
}

/** Waits for the line of JSON that the command prints when it has started. Rejects with its output if it ends before. */
export async function startedService(child: ChildProcess): Promise<Service> {
  const started = JSON.parse(await printed(child, /^(\{.*"clients":.*\})\n/m)) as Omit<Service, 'fetch'>
  return { ...started, fetch: (input, init) => fetch(input, init) }
}

/** One address for several processes: each new connection goes to the next of them. */
export interface Balancer {
  url: string
  serve(targets: string[]): void
  /** Breaks every connection and refuses new ones until it serves again. */
  cut(): void
  close(): Promise<void>
}

export async function startBalancer(): Promise<Balancer> {
  let ports: number[] = []
  let turn = 0
  const { port, cut, close } = await tcpProxy({
    target() {
      turn += 1
      return ports[turn % ports.length]
    },
  })
  return {
    url: `http://127.0.0.1:${port}`,
    serve(targets) {
      ports = targets.map((target) => Number(new URL(target).port))
    },
    cut() {
      ports = []
      cut()
    },
    close,
  }
}

/** Several processes on one database behind one address each; every request goes over a connection of its own. */
export async function startCluster(
  command: string,
  { databaseUrl, size }: { databaseUrl: string; size: number },
): Promise<Service & { processes: ServiceProcess[]; close(): Promise<void> }> {
  const [auth, base] = await Promise.all([startBalancer(), startBalancer()])
  const origins = { authUrl: auth.url, baseUrl: base.url }
  const ports = await Promise.all(Array.from({ length: size * 2 }, freePort))
  // All at once: the first start makes tables, keys and people, and several may try.
  const processes = await Promise.all(
    Array.from({ length: size }, (_, index) =>
      startProcess(command, {
        data: { databaseUrl },
        ...origins,
        authPort: ports[index] ?? 0,
        basePort: ports[size + index] ?? 0,
      }),
    ),
  )
  const local = (port: number): string => `http://127.0.0.1:${port}`
  auth.serve(ports.slice(0, size).map(local))
  base.serve(ports.slice(size).map(local))
  const knowing = processes.find(({ people }) => people.some(({ password }) => password !== ''))
  if (knowing === undefined) throw new Error('no process made the people')
  return {
    ...knowing,
    ...origins,
    processes,
    fetch: (input, init = {}) => {
      const headers = new Headers(init.headers)
      headers.set('connection', 'close')
      return fetch(input, { ...init, headers })
    },
    async close() {
      await Promise.all(processes.map((process) => process.stop()))
      await Promise.all([auth.close(), base.close()])
    },
  }
}
