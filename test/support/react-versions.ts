import { rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import type * as Rendering from './react-rendering.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** The React versions that `agent-auth/react` promises to work with, oldest and newest, as their packages are called here. */
const names = {
  18: { react: 'react-18', 'react-dom': 'react-dom-18' },
  19: { react: 'react', 'react-dom': 'react-dom' },
} as const
export type ReactMajor = keyof typeof names
export const reactMajors: readonly ReactMajor[] = [18, 19]

/** For a bundler: what `react` and `react-dom` are. */
export function reactAlias(major: ReactMajor): Record<string, string> {
  const { react, 'react-dom': reactDom } = names[major]
  return { react: folderOf(react), 'react-dom': folderOf(reactDom) }
}

function folderOf(name: string): string {
  return dirname(createRequire(import.meta.url).resolve(`${name}/package.json`))
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
