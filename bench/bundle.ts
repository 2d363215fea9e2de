import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants } from 'node:zlib'
import { build } from 'esbuild'

export interface Bundle {
  readonly minified: number
  readonly brotli: number
  /** Minified bytes by source file, largest first. */
  readonly parts: readonly (readonly [file: string, bytes: number])[]
}

const root = fileURLToPath(new URL('../', import.meta.url))

/** What an app's bundler makes of the given import statement, dependencies included. */
export async function bundle(code: string): Promise<Bundle> {
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
    external: ['node:*', 'react', '@hono/node-server', '@opentelemetry/api'],
    outfile: 'bundle.js',
    legalComments: 'none',
  })
  const bytes = outputFiles[0]?.contents ?? new Uint8Array()
  const inputs = Object.values(metafile.outputs)[0]?.inputs ?? {}
  const parts = Object.entries(inputs).map(([file, { bytesInOutput }]) => [file, bytesInOutput] as const)
  return {
    minified: bytes.length,
    brotli: brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }).length,
    parts: parts.filter(([, size]) => size > 0).sort(([, a], [, b]) => b - a),
  }
}
