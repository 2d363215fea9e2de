import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { printed } from './printed.ts'

/** A keychain of its own: D-Bus, and the Secret Service of gnome-keyring on it. */
export interface SecretService {
  /** What a process needs in its environment to use this keychain. */
  readonly env: Readonly<Record<string, string>>
  stop(): Promise<void>
}

export async function startSecretService(): Promise<SecretService> {
  const folder = mkdtempSync(join(tmpdir(), 'agent-keychain-'))
  const own = { XDG_RUNTIME_DIR: folder, XDG_DATA_HOME: folder, HOME: folder }
  const bus = spawn('dbus-daemon', ['--session', '--nofork', '--print-address', `--address=unix:path=${folder}/bus`], {
    env: { ...process.env, ...own },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  killAtExit(bus)
  const DBUS_SESSION_BUS_ADDRESS = await printed(bus, /^(\S+)\n/).catch(({ message }: Error) => {
    throw new Error(`The keychain did not start. npm test installs it as root on Debian and Ubuntu. ${message}`)
  })
  const env = { ...own, DBUS_SESSION_BUS_ADDRESS }
  const keyring = spawn('gnome-keyring-daemon', ['--unlock', '--components=secrets', '--foreground'], {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  killAtExit(keyring)
  keyring.stdin?.end('a password')
  await untilOnBus({ ...process.env, ...env })
  return {
    env,
    async stop() {
      for (const child of [keyring, bus]) await end(child)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function killAtExit(child: ChildProcess): void {
  const kill = (): boolean => child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('exit', () => process.off('exit', kill))
}

/** Resolves when the bus has a Secret Service. */
async function untilOnBus(env: NodeJS.ProcessEnv): Promise<void> {
  const bus = 'org.freedesktop.DBus'
  const names = ['--session', '--print-reply', `--dest=${bus}`, '/org/freedesktop/DBus', `${bus}.ListNames`]
  const endMs = performance.now() + 60_000
  while (!spawnSync('dbus-send', names, { env, encoding: 'utf8' }).stdout?.includes('org.freedesktop.secrets')) {
    if (performance.now() > endMs) throw new Error('The keychain did not come to the bus.')
    await sleep(20)
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}
