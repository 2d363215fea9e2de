import { spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'tsup'
import tsup from '../tsup.config.ts'

const rounds = 31
const target = 1.25
/** The entry that commands and servers without a browser or a backend import. */
const core = { name: 'index', target: 1.15 }
/** Held against a start that loads what the entry is made for. */
const peers: Readonly<Record<string, string>> = {
  react: 'react',
  'backend/node': '@hono/node-server',
  opentelemetry: '@opentelemetry/api',
}

const root = fileURLToPath(new URL('../', import.meta.url))
const bare = 'bare'

/** Starts of Node that load one entry of the built package, by turns with a bare `node -e 0`, in processor time. */
export async function imports(): Promise<boolean> {
  // Inside the project, so that the dependencies of what is built are found.
  const folder = await mkdtemp(join(root, 'node_modules', '.bench-'))
  try {
    await build({ ...tsup, outDir: folder, dts: false, clean: false, silent: true, config: false })
    const names = Object.keys(tsup.entry as Record<string, string>)
    const starts = new Map([[bare, '0']])
    for (const peer of Object.values(peers)) starts.set(peer, importing(peer))
    for (const name of names) starts.set(`./${name}`, importing(pathToFileURL(join(folder, `${name}.js`)).href))
    const times = measure(starts)
    process.stdout.write(`${'node -e 0'.padEnd(28)}${milliseconds(times.get(bare))}\n`)
    return names.map((name) => report(name, times)).every(Boolean)
  } finally {
    await rm(folder, { recursive: true })
  }
}

function importing(specifier: string): string {
  return `import(${JSON.stringify(specifier)})`
}

/** The middle of all rounds. Processor time, since other work on the machine changes it less than the time by the clock. */
function measure(starts: ReadonlyMap<string, string>): Map<string, number> {
  const times = new Map([...starts.keys()].map((name) => [name, [] as number[]]))
  for (let round = 0; round < rounds; round++)
    for (const [name, code] of starts) times.get(name)?.push(processorMs(code))
  return new Map([...times].map(([name, all]) => [name, all.sort((a, b) => a - b)[rounds >> 1] ?? Number.NaN]))
}

function processorMs(code: string): number {
  const atExit = `process.on('exit', () => {
    const { user, system } = process.cpuUsage()
    require('node:fs').writeSync(1, String((user + system) / 1_000))
  })`
  const { stdout, stderr, status } = spawnSync(process.execPath, ['-e', `${code};${atExit}`], {
    cwd: root,
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`a start failed: ${stderr}`)
  return Number(stdout)
}

function report(name: string, times: ReadonlyMap<string, number>): boolean {
  const beside = peers[name] ?? bare
  const ratio = (times.get(`./${name}`) ?? Number.NaN) / (times.get(beside) ?? Number.NaN)
  const limit = name === core.name ? core.target : target
  const label = `agent-auth${name === 'index' ? '' : `/${name}`}`
  const against = beside === bare ? '' : ` of a start with ${beside} (${milliseconds(times.get(beside))})`
  process.stdout.write(
    `${label.padEnd(28)}${milliseconds(times.get(`./${name}`))}   ${ratio.toFixed(2)} x${against}, target at most ${limit} x: ${ratio <= limit ? 'pass' : 'MISSED'}\n`,
  )
  return ratio <= limit
}

function milliseconds(value = Number.NaN): string {
  return `${value.toFixed(1).padStart(6)} ms`
}
