import { readFile } from 'node:fs/promises'
import type { Plugin } from 'esbuild'

const names = {
  'internal/limits': ['databaseTimeoutMs'],
  'storage/lock': ['maxStorageOperationMs'],
  'node/replace-file': ['maxFileWaitMs'],
}

/**
 * Bundles the sources with time limits of a storage that are twenty times as long, because the machine may have as much more to do. For
 * tests that prove something else than these limits. A lease lasts as long as it always does.
 */
export const patientLimits: Plugin = {
  name: 'patient-limits',
  setup({ onLoad }) {
    for (const [file, own] of Object.entries(names))
      onLoad({ filter: new RegExp(`/src/${file}\\.ts$`) }, async ({ path }) => {
        let contents = await readFile(path, 'utf8')
        for (const name of own) {
          const limit = new RegExp(`^export const ${name} = [\\d_]+$`, 'm')
          if (!limit.test(contents)) throw new Error(`${path} has no ${name}.`)
          contents = contents.replace(limit, (line) => `${line} * 20`)
        }
        return { contents, loader: 'ts' }
      })
  },
}
