import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants } from 'node:zlib'
import { build as esbuild } from 'esbuild'
import { build } from 'vite'
import { runCommand } from '../scripts/flags.ts'
import tsup from '../tsup.config.ts'
import { type Figure, figureLine } from './figures.ts'

const help = `Usage: npm run size [-- --detail]

Bundles every entry, and what a login needs of the core, as Vite does for an app: minified, with oauth4webapi and jose, brotli. Beside
it stands the size that esbuild makes. Prints whether a set meets its budget, and fails if one is over its ceiling.

  --detail    also what each source file contributes, in minified bytes of esbuild
  -h, --help  this text
`

const root = fileURLToPath(new URL('../', import.meta.url))

const core = [
  'createAuthConfig',
  'startLogin',
  'readCallback',
  'exchangeCode',
  'refreshTokens',
  'createSession',
  'createBearerFetch',
]

/** What a set should take, and what it may take until then: bytes, compressed with brotli. A ceiling only goes down. */
const budgets: Readonly<Record<string, { readonly most: number; readonly ceiling: number }>> = {
  'core: login, session, bearer': { most: 15_000, ceiling: 14_890 },
  'agent-auth/browser': { most: 19_000, ceiling: 19_000 },
  'agent-auth/browser/isolated': { most: 4_600, ceiling: 4_460 },
  'agent-auth/browser/worker': { most: 17_600, ceiling: 16_900 },
  'agent-auth/api': { most: 4_800, ceiling: 4_470 },
  'agent-auth/backend/client': { most: 1_500, ceiling: 1_470 },
}

/** What brings nothing along: entries for Node, and what an app has already. */
const external = [/^node:/, 'agent-service', 'react', 'vue', 'solid-js', '@hono/node-server', '@opentelemetry/api']

/** Returns the size of each set, with its budget as target. */
export async function sizes(): Promise<Figure[]> {
  const found: Figure[] = []
  for (const [name, code] of sets()) {
    const most = budgets[name]?.most
    const peers = { esbuild: (await esbuildBundle(code)).brotli }
    found.push({
      name,
      value: await viteSize(code),
      unit: 'bytes',
      peers,
      ...(most !== undefined && { target: { most } }),
    })
  }
  return found
}

/** The import statements of each set. */
function sets(): Map<string, string> {
  const entries = Object.entries(tsup.entry as Record<string, string>)
  return new Map([
    ['core: login, session, bearer', `export { ${core.join(', ')} } from '${root}src/index.ts'`],
    ...entries.map(([name, source]): [string, string] => [
      name === 'index' ? 'agent-auth' : `agent-auth/${name}`,
      `export * from '${root}${source}'`,
    ]),
  ])
}

/** The size of all files that Vite makes of the code. */
async function viteSize(code: string): Promise<number> {
  const { NODE_ENV } = process.env
  const result = await build({
    root,
    configFile: false,
    logLevel: 'error',
    plugins: [
      {
        name: 'entry',
        resolveId: (id) => (id === 'entry' ? '\0entry.js' : null),
        load: (id) => (id === '\0entry.js' ? code : null),
      },
    ],
    build: {
      write: false,
      modulePreload: false,
      rolldownOptions: { input: 'entry', preserveEntrySignatures: 'strict', external },
    },
  })
  // Vite sets it for the whole process, and the benches after this one start servers.
  if (NODE_ENV === undefined) delete process.env.NODE_ENV
  const files = [result].flat().flatMap((bundle) => ('output' in bundle ? bundle.output : []))
  return files.reduce((sum, file) => sum + (file.type === 'chunk' ? brotliBytes(file.code) : 0), 0)
}

interface Bundle {
  readonly brotli: number
  /** Minified bytes by source file, largest first. */
  readonly parts: readonly (readonly [file: string, bytes: number])[]
}

async function esbuildBundle(code: string): Promise<Bundle> {
  const { outputFiles, metafile } = await esbuild({
    stdin: { contents: code, resolveDir: root, loader: 'ts' },
    absWorkingDir: root,
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    write: false,
    metafile: true,
    external: external.map((name) => (typeof name === 'string' ? name : 'node:*')),
    outfile: 'bundle.js',
    legalComments: 'none',
  })
  const bytes = outputFiles[0]?.contents ?? new Uint8Array()
  const inputs = Object.values(metafile.outputs)[0]?.inputs ?? {}
  const parts = Object.entries(inputs).map(([file, { bytesInOutput }]) => [file, bytesInOutput] as const)
  return {
    brotli: brotliBytes(bytes),
    parts: parts.filter(([, size]) => size > 0).sort(([, a], [, b]) => b - a),
  }
}

function brotliBytes(code: string | Uint8Array): number {
  return brotliCompressSync(code, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }).length
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  await runCommand({ name: 'size', help, options: { detail: { type: 'boolean' } } }, async ({ detail }) => {
    const figures = await sizes()
    const ceilingOf = ({ name, value }: Figure): number => budgets[name]?.ceiling ?? value
    const isOver = (figure: Figure): boolean => figure.value > ceilingOf(figure)
    for (const figure of figures) {
      process.stdout.write(figureLine(figure))
      if (isOver(figure)) process.stdout.write(`${figure.name} is over its ceiling of ${ceilingOf(figure)} bytes\n`)
    }
    if (detail)
      for (const [name, code] of sets()) {
        const { parts } = await esbuildBundle(code)
        const lines = parts.map(([file, bytes]) => `${String(bytes).padStart(8)}  ${file}\n`)
        process.stdout.write(`\n${name}\n${lines.join('')}`)
      }
    return figures.some(isOver) ? 1 : 0
  })
