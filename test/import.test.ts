import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { expect, it } from 'vitest'
import tsup from '../tsup.config.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
const entries = tsup.entry as Record<string, string>
/** What an entry is made for has to be there first. */
const needed: Record<string, string[]> = {
  react: ['react', 'react/jsx-runtime'],
  'backend/node': ['@hono/node-server'],
}

it.each(Object.keys(entries))('loading %s loads no dependency before it is used [F077]', async (name) => {
  const { metafile } = await build({
    entryPoints: { [name]: `${root}${entries[name]}` },
    outdir: 'out',
    bundle: true,
    splitting: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'neutral',
    packages: 'external',
  })
  const outputs = Object.entries(metafile.outputs)
  const atOnce = new Set(outputs.flatMap(([file, { entryPoint }]) => (entryPoint === entries[name] ? [file] : [])))
  const packages: string[] = []
  for (const file of atOnce)
    for (const { path, kind, external } of metafile.outputs[file]?.imports ?? []) {
      if (kind === 'dynamic-import' || path.startsWith('node:')) continue
      if (external) packages.push(path)
      else atOnce.add(path)
    }
  expect(atOnce.size).toBeGreaterThan(0)
  expect(packages.filter((path) => !needed[name]?.includes(path))).toEqual([])
})
