import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import type * as Rendering from './react-rendering.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** The React versions that `agent-auth/react` promises to work with, oldest and newest, and where they are. */
const places = {
  18: { react: 'test/node_modules/react-18', 'react-dom': 'test/node_modules/react-dom-18' },
  19: { react: 'node_modules/react', 'react-dom': 'node_modules/react-dom' },
} as const
export type ReactMajor = keyof typeof places
export const reactMajors: readonly ReactMajor[] = [18, 19]

/** For a bundler: what `react` and `react-dom` are. */
export function reactAlias(major: ReactMajor): Record<string, string> {
  const { react, 'react-dom': reactDom } = places[major]
  return { react: join(root, react), 'react-dom': join(root, reactDom) }
}

/** Rendering on a server with this React: bundled, so that every part of it finds the same one. */
export async function loadRendering(major: ReactMajor): Promise<typeof Rendering> {
  const outfile = join(root, 'node_modules', `.react-rendering-${major}-${process.pid}.mjs`)
  await build({
    entryPoints: [join(root, 'test/support/react-rendering.ts')],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    alias: { ...reactAlias(major), 'agent-auth/react': join(root, 'src/react/index.ts') },
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    logLevel: 'silent',
  })
  try {
    return (await import(pathToFileURL(outfile).href)) as typeof Rendering
  } finally {
    await rm(outfile)
  }
}
