import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants } from 'node:zlib'
import { build } from 'esbuild'
import { runCommand } from '../scripts/flags.ts'
import tsup from '../tsup.config.ts'
import { type Figure, figureLine } from './figures.ts'

const help = `Usage: npm run size [-- --detail]

Bundles every entry, and what a login needs of the core, as an app's bundler would: minified, with oauth4webapi and jose, brotli.
Prints whether a set meets its budget. Fails if one is over its ceiling, which is the size that it has now.

  --detail    also what each source file contributes, in minified bytes
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
  'core: login, session, bearer': { most: 15_000, ceiling: 15_260 },
  'agent-auth/browser': { most: 19_000, ceiling: 19_800 },
  'agent-auth/browser/isolated': { most: 4_700, ceiling: 4_700 },
  'agent-auth/browser/worker': { most: 17_700, ceiling: 17_700 },
  'agent-auth/api': { most: 4_800, ceiling: 4_500 },
  'agent-auth/backend/client': { most: 1_500, ceiling: 1_505 },
}

interface Bundle {
  readonly brotli: number
  /** Minified bytes by source file, largest first. */
  readonly parts: readonly (readonly [file: string, bytes: number])[]
}

/** Returns the size of each set, with its budget as target. */
export async function sizes(): Promise<Figure[]> {
  return [...(await bundles())].map(([name, { brotli }]) => {
    const most = budgets[name]?.most
    return { name, value: brotli, unit: 'bytes', ...(most !== undefined && { target: { most } }) }
  })
}

async function bundles(): Promise<Map<string, Bundle>> {
  const found = new Map([
    ['core: login, session, bearer', await bundle(`export { ${core.join(', ')} } from './src/index.ts'`)],
  ])
  for (const [name, source] of Object.entries(tsup.entry as Record<string, string>))
    found.set(name === 'index' ? 'agent-auth' : `agent-auth/${name}`, await bundle(`export * from './${source}'`))
  return found
}

/** What an app's bundler makes of the given import statement, dependencies included. */
async function bundle(code: string): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    stdin: { contents: code, resolveDir: root, loader: 'ts' },
    absWorkingDir: root,
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    write: false,
    metafile: true,
    // Entries for Node bring none of it along.
    external: ['node:*', 'react', 'vue', 'solid-js', '@hono/node-server', '@opentelemetry/api'],
    outfile: 'bundle.js',
    legalComments: 'none',
  })
  const bytes = outputFiles[0]?.contents ?? new Uint8Array()
  const inputs = Object.values(metafile.outputs)[0]?.inputs ?? {}
  const parts = Object.entries(inputs).map(([file, { bytesInOutput }]) => [file, bytesInOutput] as const)
  return {
    brotli: brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }).length,
    parts: parts.filter(([, size]) => size > 0).sort(([, a], [, b]) => b - a),
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  await runCommand({ name: 'size', help, options: { detail: { type: 'boolean' } } }, async ({ detail }) => {
    const figures = await sizes()
    for (const figure of figures) process.stdout.write(figureLine(figure))
    if (detail)
      for (const [name, { parts }] of await bundles()) {
        const lines = parts.map(([file, bytes]) => `${String(bytes).padStart(8)}  ${file}\n`)
        process.stdout.write(`\n${name}\n${lines.join('')}`)
      }
    return figures.every(({ name, value }) => value <= (budgets[name]?.ceiling ?? value)) ? 0 : 1
  })
