import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { expect, it } from 'vitest'
import tsup from '../tsup.config.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
const entries = tsup.entry as Record<string, string>
/** What an entry is made for has to be there first. */
const needed: Record<string, string[]> = {
  react: ['react', 'react/jsx-runtime'],
  vue: ['vue'],
  solid: ['solid-js'],
  'backend/node': ['@hono/node-server'],
  opentelemetry: ['@opentelemetry/api'],
}

/** The core is built on these. The encryption of jose takes most of the time of an import, so it is loaded when it is used. */
const ofTheCore = ['oauth4webapi', 'jose/jwt/decode']

it.each(Object.keys(entries))(
  'loading %s loads no dependency before it is used but those of the core',
  async (name) => {
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
    expect(packages.filter((path) => ![...ofTheCore, ...(needed[name] ?? [])].includes(path))).toEqual([])
  },
)

it('loading an entry of the built package reads at most five files, and the core two', async () => {
  const { metafile } = await build({
    entryPoints: { ...entries, core: 'one-core-file' },
    outdir: 'dist',
    bundle: true,
    splitting: true,
    write: false,
    metafile: true,
    format: 'esm',
    packages: 'external',
    plugins: tsup.esbuildPlugins ?? [],
  })
  const loaded = (file: string, seen = new Set<string>()): number => {
    if (seen.has(file)) return seen.size
    seen.add(file)
    for (const { path, kind } of metafile.outputs[file]?.imports ?? [])
      if (kind === 'import-statement' && /^(dist|\.)\//.test(path)) loaded(path.replace(/^\.\//, 'dist/'), seen)
    return seen.size
  }
  expect(loaded('dist/index.js')).toBe(2)
  for (const name of Object.keys(entries))
    expect({ name, hasFewFiles: loaded(`dist/${name}.js`) <= 5 }).toEqual({ name, hasFewFiles: true })
})
