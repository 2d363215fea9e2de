import cluster, { type Worker } from 'node:cluster'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Client, Service } from 'agent-service'
import { announce, checkPort, clientOf, portFrom, untilStopped } from './example.ts'
import { exitCodes, runCommand } from './flags.ts'
import { findSessionPlace } from './session-place.ts'

const help = `Usage: npm run example:backend [-- --port N] [--processes N]

Starts agent-service and a backend with a small web page: the browser holds a cookie, the tokens stay on the server.
Prints where it is and the accounts to sign in with; stop it with Ctrl-C. A process that is killed is replaced.

  --port N       where the app is served on 127.0.0.1; default 3000
  --processes N  how many processes of the backend share that port, 1 to 16; default 1
  -h, --help     this text

Sessions live in the process, or with REDIS_URL in that Redis, or with DATABASE_URL in that PostgreSQL; with both set, in
Redis. Several processes need one of these. agent-service itself keeps its data in memory.

COOKIE_SECRET seals the cookies of logins: at least 32 characters, or several of these with commas between them, the newest
first. Without it there is a new one with each start.

Exit codes: 0 stopped by Ctrl-C, 1 something could not be started, 2 the arguments are wrong.
`

const options = { port: { type: 'string', default: '3000' }, processes: { type: 'string', default: '1' } } as const
const server = fileURLToPath(new URL('../examples/node-backend/src/server.ts', import.meta.url))

await runCommand({ name: 'example:backend', help, options }, async (values) => {
  const port = portFrom(values.port)
  const processes = Number(values.processes)
  const problem = problemWith(port, processes)
  if (port === undefined || problem) {
    process.stderr.write(`example:backend: ${problem}\n`)
    return exitCodes.usage
  }
  await checkPort(port)
  const place = await findSessionPlace(process.env)
  const origin = `http://127.0.0.1:${port}`
  const stopped = untilStopped()
  const { startService } = await import('agent-service')
  const service = await startService({ dev: 'on', tokenClaims: 'profile', redirectUris: [`${origin}/auth/callback`] })
  const client = clientOf(service, 'confidential')
  const workers = backendWorkers(service, client, port)
  try {
    await Promise.all(Array.from({ length: processes }, () => workers.start()))
    const many = processes === 1 ? '1 process' : `${processes} processes`
    announce(origin, service, client, `${many}, sessions in ${place}.\n\n`)
    await Promise.race([stopped, workers.failed])
  } finally {
    await workers.stop()
    await service.close()
    // Node's cluster can leave its listening socket open if a process is killed while it is given a connection.
    setImmediate(() => process.exit())
  }
  return exitCodes.ok
})

function problemWith(port: number | undefined, processes: number): string | undefined {
  if (port === undefined) return '--port takes a number from 1 to 65535'
  if (!(Number.isInteger(processes) && processes >= 1 && processes <= 16))
    return '--processes takes a number from 1 to 16'
  if (processes > 1 && !process.env.REDIS_URL && !process.env.DATABASE_URL)
    return 'several processes need a place for sessions that they share: set REDIS_URL or DATABASE_URL'
  return undefined
}

interface Workers {
  /** Resolves when the process listens, and rejects when it ends instead. */
  start(): Promise<void>
  /** Never resolves; rejects when a process could not be replaced. */
  readonly failed: Promise<never>
  stop(): Promise<void>
}

/** Processes of the backend behind one port. */
function backendWorkers({ authUrl, baseUrl }: Service, client: Client, port: number): Workers {
  cluster.setupPrimary({ exec: server, execArgv: ['--import', 'tsx'] })
  const env = {
    AGENT_AUTH_URL: authUrl,
    AGENT_BASE_URL: baseUrl,
    AGENT_CLIENT_ID: client.clientId,
    AGENT_CLIENT_SECRET: client.clientSecret,
    COOKIE_SECRET: process.env.COOKIE_SECRET || randomBytes(32).toString('base64url'),
    PORT: String(port),
  }
  const running = new Set<Worker>()
  let stopping = false
  let fail: (reason: Error) => void
  const failed = new Promise<never>((_, reject) => {
    fail = reject
  })
  failed.catch(() => {})
  const start = async (): Promise<void> => {
    const worker = cluster.fork(env)
    running.add(worker)
    let listens = false
    worker.once('exit', () => {
      running.delete(worker)
      if (listens && !stopping) start().catch(fail)
    })
    await Promise.race([
      once(worker, 'listening'),
      once(worker, 'exit').then(() => Promise.reject(new Error('the backend did not start'))),
    ])
    listens = true
  }
  const stop = async (): Promise<void> => {
    stopping = true
    const ends = [...running].map((worker) => once(worker, 'exit'))
    for (const worker of running) worker.process.kill('SIGTERM')
    await Promise.all(ends)
  }
  return { start, failed, stop }
}
