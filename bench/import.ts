import { spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'tsup'
import tsup from '../tsup.config.ts'
import { type Figure, median, type Size } from './figures.ts'

const rounds = { whole: 31, short: 1 }
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
const bare = 'node -e 0'

/** Starts of Node that load one entry of the built package, by turns with a bare `node -e 0`, in processor time. */
export async function imports(size: Size): Promise<Figure[]> {
  // Inside the project, so that the dependencies of what is built are found.
  const folder = await mkdtemp(join(root, 'node_modules', '.bench-'))
  try {
    await build({ ...tsup, outDir: folder, dts: false, clean: false, silent: true, config: false })
    const names = Object.keys(tsup.entry as Record<string, string>)
    const starts = new Map([[bare, '0']])
    for (const peer of Object.values(peers)) starts.set(peer, importing(peer))
    for (const name of names) starts.set(`./${name}`, importing(pathToFileURL(join(folder, `${name}.js`)).href))
    const times = measure(starts, rounds[size])
    return names.map((name) => figureOf(name, times))
  } finally {
    await rm(folder, { recursive: true })
  }
}

function importing(specifier: string): string {
  return `import(${JSON.stringify(specifier)})`
}

/** The middle of all rounds. Processor time, since other work on the machine changes it less than the time by the clock. */
function measure(starts: ReadonlyMap<string, string>, rounds: number): Map<string, number> {
  const times = new Map([...starts.keys()].map((name) => [name, [] as number[]]))
  for (let round = 0; round < rounds; round++)
    for (const [name, code] of starts) times.get(name)?.push(processorMs(code))
  return new Map([...times].map(([name, all]) => [name, median(all)]))
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

function figureOf(name: string, times: ReadonlyMap<string, number>): Figure {
  const beside = peers[name] ?? bare
  return {
    name: `start with agent-auth${name === 'index' ? '' : `/${name}`}`,
    value: times.get(`./${name}`) ?? Number.NaN,
    unit: 'ms of CPU',
    peers: { [beside]: times.get(beside) ?? Number.NaN },
    target: { most: name === core.name ? core.target : target, of: beside },
  }
}
