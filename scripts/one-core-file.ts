import { dirname, resolve } from 'node:path'
import type { Plugin } from 'esbuild'
import { build } from 'esbuild'
import type { Options } from 'tsup'

const coreEntry = 'src/index.ts'
const coreFile = './core.js'
const virtual = 'one-core-file'

/**
 * Options of tsup that put every module of the core into one file, `core.js`, which all entries import. esbuild alone makes
 * a file of each set of modules that the same entries share, and every further file makes a start of Node longer.
 */
export const oneCoreFile: Options = {
  esbuildPlugins: [plugin()],
  esbuildOptions: (options) => {
    options.entryPoints = { ...(options.entryPoints as Record<string, string>), core: virtual }
  },
  plugins: [{ name: virtual, renderChunk: (code, { path }) => ({ code: fromFolder(code, path) }) }],
}

function plugin(): Plugin {
  return {
    name: virtual,
    async setup({ onResolve, onLoad }) {
      const core = await modulesOf(coreEntry)
      onResolve({ filter: /^one-core-file$/ }, ({ path }) => ({ path, namespace: virtual }))
      onLoad({ filter: /.*/, namespace: virtual }, () => ({
        contents: core.map((file) => `export * from ${JSON.stringify(file)}`).join('\n'),
        resolveDir: process.cwd(),
      }))
      onResolve({ filter: /^\.\.?\// }, ({ path, importer, resolveDir, kind }) => {
        if (kind !== 'import-statement' || core.includes(importer)) return undefined
        return core.includes(resolve(resolveDir, path)) ? { path: coreFile, external: true } : undefined
      })
    },
  }
}

/** The absolute paths of what an entry loads at once, without the entry itself. */
async function modulesOf(entry: string): Promise<string[]> {
  const { metafile } = await build({
    entryPoints: [entry],
    bundle: true,
    splitting: true,
    outdir: 'unwritten',
    write: false,
    metafile: true,
    format: 'esm',
    packages: 'external',
  })
  const found = new Set([entry])
  for (const file of found)
    for (const { path, kind, external } of metafile.inputs[file]?.imports ?? [])
      if (kind === 'import-statement' && !external) found.add(path)
  found.delete(entry)
  return [...found].map((file) => resolve(file))
}

/** Corrects the path to the core in an entry of a folder, such as `backend/node.js`. */
function fromFolder(code: string, path: string): string {
  return /\b(backend|browser)$/.test(dirname(path)) ? code.replaceAll(`"${coreFile}"`, `".${coreFile}"`) : code
}
