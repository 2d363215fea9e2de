import { readdir, readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, sep } from 'node:path'
import { defineConfig, type Options } from 'tsup'

/** One file instead of 450 modules: most of a start was finding and reading them. libsql is native and stays out. */
const bundled = ['@hono/node-server', 'hono', 'jose', 'kysely', 'open', 'zod']

/** `tsup --no-dts`: JavaScript only, beside whatever types were built before. */
const fast = process.argv.includes('--no-dts')

const config: Options | Options[] | ((override: Options) => unknown) = defineConfig({
  entry: { index: 'src/index.ts', cli: 'src/cli/cli.ts' },
  format: ['esm'],
  target: 'node20',
  // The API is loaded with its first request. If that opened a file while no descriptor is free, Node would remember the failure.
  splitting: false,
  noExternal: bundled.map((name) => new RegExp(`^${name}(/|$)`)),
  external: ['libsql'],
  // Comments and spaces were a third of what Node reads at each start. Names stay, for the frames of a log.
  esbuildOptions: (options) => Object.assign(options, { minifyWhitespace: true, minifySyntax: true }),
  // `npm run check` compiles the sources once, with tsc.
  dts: fast ? false : { compilerOptions: { ignoreDeprecations: '6.0', noCheck: true } },
  clean: !fast,
  async onSuccess() {
    await writeLicenses()
  },
})

/** The licences of what is bundled ask to go along. */
async function writeLicenses(): Promise<void> {
  const texts = await Promise.all(
    bundled.map(async (name) => {
      const folder = packageFolder(name)
      const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry))
      return file === undefined ? `${name}: MIT` : `${name}\n\n${await readFile(join(folder, file), 'utf8')}`
    }),
  )
  await writeFile('dist/third-party-licenses.txt', texts.join('\n\n---\n\n'))
}

function packageFolder(name: string): string {
  const entry = createRequire(import.meta.url).resolve(name)
  const end = entry.lastIndexOf(join('node_modules', ...name.split('/')))
  return end === -1 ? dirname(entry) : entry.slice(0, end) + join('node_modules', ...name.split('/')) + sep
}

export default config
