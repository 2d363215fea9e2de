import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { type Figure, median } from './figures.ts'

const rounds = 9
const bare = 'node -e 0'
const emptyModule = 'an empty module'
/** The entries that a process on a server or a command starts with. */
const entries = ['index', 'backend', 'node']
const root = fileURLToPath(new URL('../', import.meta.url))

/** Starts of Node that load one entry of the built package, by turns with a bare start and with one that loads an empty module. */
export async function imports(): Promise<Figure[]> {
  const starts = new Map([
    [bare, '0'],
    [emptyModule, importing('data:text/javascript,')],
    ...entries.map((name): [string, string] => [name, importing(`${root}dist/${name}.js`)]),
  ])
  const times = new Map([...starts.keys()].map((name) => [name, [] as number[]]))
  for (let round = 0; round < rounds; round++)
    for (const [name, code] of starts) times.get(name)?.push(processorMs(code))
  const middle = (name: string): number => median(times.get(name) ?? [])
  return entries.map((name) => ({
    name: `start with agent-auth${name === 'index' ? '' : `/${name}`}`,
    value: middle(name),
    unit: 'ms of CPU',
    peers: { [bare]: middle(bare), [emptyModule]: middle(emptyModule) },
    target: { most: 1.25, of: bare },
  }))
}

function importing(specifier: string): string {
  return `import(${JSON.stringify(specifier)})`
}

/** Processor time, since other work on the machine changes it less than the time by the clock. */
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
