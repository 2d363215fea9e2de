import { spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Figure, Size } from './figures.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
const runs = {
  whole: ['--project', 'unit', '--project', 'library'],
  short: ['--project', 'unit', 'test/core/claims.test.ts'],
}

type Kind = 'statements' | 'branches' | 'functions'
type Counts = Readonly<Record<Kind, { readonly total: number; readonly covered: number }>>

/** How much of the library the tests in this process and its workers run, as a whole and by room. */
export async function coverage(size: Size): Promise<Figure[]> {
  const folder = await mkdtemp(join(tmpdir(), 'agent-auth-coverage-'))
  try {
    const reports = ['--coverage.reporter=json-summary', `--coverage.reportsDirectory=${folder}`]
    const args = ['vitest', 'run', '--coverage', ...reports, ...runs[size]]
    // Its own report goes to stderr. A test that failed there is no fault of the figures.
    spawnSync('npx', args, { cwd: root, stdio: ['ignore', 2, 2], env: { ...process.env, VITEST: '' } })
    return figuresOf(JSON.parse(await readFile(join(folder, 'coverage-summary.json'), 'utf8')))
  } finally {
    await rm(folder, { recursive: true })
  }
}

function figuresOf({ total, ...files }: Readonly<Record<string, Counts>> & { readonly total: Counts }): Figure[] {
  const rooms = [...new Set(Object.keys(files).map(roomOf))].sort()
  const of = (room: string): Counts[] =>
    Object.keys(files).flatMap((file) => (roomOf(file) === room ? [files[file] as Counts] : []))
  return [
    ...(['statements', 'branches', 'functions'] as const).map((kind) => share(`${kind} of src`, [total], kind)),
    ...rooms.map((room) => share(`statements of ${room}`, of(room), 'statements')),
  ]
}

/** The folder under `src`, or `src` for the files of the core. */
function roomOf(file: string): string {
  const [, room = ''] = relative(root, file).split('/')
  return room.includes('.') ? 'the core' : `src/${room}`
}

function share(name: string, all: readonly Counts[], kind: Kind): Figure {
  const sum = (of: 'total' | 'covered'): number => all.reduce((total, counts) => total + counts[kind][of], 0)
  return { name, value: (100 * sum('covered')) / sum('total'), unit: '%' }
}
