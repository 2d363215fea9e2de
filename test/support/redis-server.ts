import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { endWithParent } from './end-with-parent.ts'
import { freePort } from './free-port.ts'
import type { RunningServer } from './postgres-server.ts'
import { printed } from './printed.ts'
import { untilServer } from './until.ts'

export interface RedisOptions {
  /** `every-write`: what was confirmed survives a crash. Default `none`. */
  readonly persistence?: 'none' | 'every-write'
  /** A Cluster of one node that owns all slots: enough for it to refuse keys of different slots. Default `off`. */
  readonly cluster?: 'on' | 'off'
  /** Default: a free one. */
  readonly port?: number
  /** Further settings of `redis.conf`. */
  readonly settings?: Readonly<Record<string, string>>
  /** Files that its folder has before it starts: their names and contents. */
  readonly files?: Readonly<Record<string, string>>
}

export interface RedisServer extends RunningServer {
  readonly port: number
  /** SIGKILL. */
  crash(): Promise<void>
  /** It keeps its connections and answers nothing until it is continued. */
  halt(): void
  continue(): void
  /** Starts it again on the same port, with what it had kept. */
  restart(): Promise<void>
}

const host = '127.0.0.1'

/** A real Redis on a free loopback port, its files in a temporary folder that goes with it. Takes about 50 ms. */
export async function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  const { persistence = 'none', cluster = 'off', files = {} } = options
  const folder = await mkdtemp(join(tmpdir(), 'agent-redis-'))
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  const port = options.port ?? (await freePort())
  const settings = {
    bind: host,
    port: String(port),
    dir: folder,
    save: '',
    appendonly: persistence === 'none' ? 'no' : 'yes',
    appendfsync: 'always',
    'enable-debug-command': 'local',
    'cluster-enabled': cluster === 'on' ? 'yes' : 'no',
    'cluster-announce-ip': host,
    ...options.settings,
  }
  const start = (): Promise<ChildProcess> =>
    started(
      folder,
      Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]),
    )
  let server = await start()
  if (cluster === 'on') await takeAllSlots(port)
  const end = async (signal: 'SIGKILL' | 'SIGTERM'): Promise<void> => {
    if (server.exitCode !== null || server.signalCode !== null) return
    const gone = once(server, 'exit')
    server.kill(signal)
    await gone
  }
  return {
    url: `redis://${host}:${port}`,
    port,
    crash: () => end('SIGKILL'),
    halt: () => void server.kill('SIGSTOP'),
    continue: () => void server.kill('SIGCONT'),
    async restart() {
      server = await start()
    },
    async stop() {
      await end('SIGKILL')
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function takeAllSlots(port: number): Promise<void> {
  const client = new Redis(port, host)
  await client.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383')
  await untilServer('take all slots', async () =>
    String(await client.call('CLUSTER', 'INFO')).includes('cluster_state:ok'),
  )
  client.disconnect()
}

async function started(folder: string, args: string[]): Promise<ChildProcess> {
  const server = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'pipe'] })
  endWithParent(server, folder)
  await printed(server, /Ready to accept connections/).catch(({ message }: Error) => {
    throw new Error(`Redis did not start. npm test installs it as root on Debian and Ubuntu. ${message}`)
  })
  return server
}
