import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

/** Builds a file, named from this folder, against the package built in the other; returns the one script. */
export async function bundleAgainst(folder: string, file: string, alias: Record<string, string> = {}): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL(file, import.meta.url))],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    alias: {
      ...alias,
      'agent-auth/api': join(folder, 'api.js'),
      'agent-auth/backend/client': join(folder, 'backend/client.js'),
      'agent-auth/browser': join(folder, 'browser.js'),
      'agent-auth/browser/isolated': join(folder, 'browser/isolated.js'),
      'agent-auth/browser/worker': join(folder, 'browser/worker.js'),
      'agent-auth/react': join(folder, 'react.js'),
      'agent-auth/texts': join(folder, 'texts.js'),
    },
    logLevel: 'silent',
  })
  return outputFiles[0]?.text ?? ''
}
