import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createContext, runInContext } from 'node:vm'
import { build } from 'esbuild'
import { expect, test } from 'vitest'
import tsup from '../tsup.config.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
const entries = tsup.entry as Record<string, string>
const readJson = (file: string) => JSON.parse(readFileSync(root + file, 'utf8'))

/** Folders with an entry of their own, and the other such folders that each may import. All may import the core. */
const edges: Record<string, string[]> = {
  api: [],
  backend: ['texts'],
  'backend/client': ['backend'],
  browser: [],
  command: ['node'],
  discovery: [],
  node: [],
  opentelemetry: ['backend'],
  postgres: [],
  page: ['browser', 'backend/client'],
  react: ['page'],
  redis: [],
  solid: ['page'],
  svelte: ['page'],
  testing: [],
  texts: [],
  vue: ['page'],
}
const inNode = ['node', 'backend', 'backend/node', 'redis', 'postgres']
const inPages = Object.keys(entries).filter((name) => !inNode.includes(name))

/** Returns every import of the files below a folder as [file, what it imports], with the imports of types. */
function importsBelow(folder: string): [from: string, to: string][] {
  const files = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
  return files
    .filter((file) => /\.tsx?$/.test(file))
    .flatMap((file) => {
      const found = readFileSync(join(root, folder, file), 'utf8').matchAll(/\b(?:from |import |import\()'([^']+)'/g)
      return [...found].map(([, to = '']): [string, string] => [
        file,
        to.startsWith('.') ? posix.join(posix.dirname(file), to) : to,
      ])
    })
}

function edgeOf(file: string): string | undefined {
  const [folder, room] = file.split('/')
  return [`${folder}/${room}`, `${folder}`].find((edge) => edge in edges)
}

/** Returns each cycle as the path that closes it. */
function cyclesIn(imports: readonly [from: string, to: string][]): string[] {
  const found: string[] = []
  const done = new Set<string>()
  const walk = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) found.push([...path.slice(path.indexOf(file)), file].join(' → '))
    if (path.includes(file) || done.has(file)) return
    for (const [from, to] of imports) if (from === file) walk(to, [...path, file])
    done.add(file)
  }
  for (const [from] of imports) walk(from, [])
  return found
}

test.each(['src', 'service/src'])('no import of %s closes a cycle', (folder) => {
  expect(cyclesIn(importsBelow(folder))).toEqual([])
})

test('the core imports no entry, and an entry only those that it is built on', () => {
  const imports = importsBelow('src')
  expect(imports.length).toBeGreaterThan(100)
  const wrong = imports.filter(([from, to]) => {
    const [edge, target] = [edgeOf(from), edgeOf(to)]
    return to === 'index.ts' || (target !== undefined && target !== edge && !edges[edge ?? '']?.includes(target))
  })
  expect(wrong).toEqual([])
})

test('the service has its SQL in store/, and store/ imports nothing that answers requests', () => {
  const imports = importsBelow('service/src')
  expect(imports.length).toBeGreaterThan(100)
  const wrong = imports.filter(([from, to]) =>
    from.startsWith('store/')
      ? /^(hono|(api|authorize|cli|clients|dev|http|server|sign-in|token|ui)\/)/.test(to)
      : ['kysely', 'libsql', 'pg'].includes(to),
  )
  expect(wrong).toEqual([])
})

test('package.json exports exactly the entries that are built, and those for pages compile without Node', () => {
  const built = Object.keys(entries).map((name) => [
    name === 'index' ? '.' : `./${name}`,
    { types: `./dist/${name}.d.ts`, default: `./dist/${name}.js` },
  ])
  expect(readJson('package.json').exports).toEqual({
    ...Object.fromEntries(built),
    './package.json': './package.json',
  })
  const { files } = readJson('src/tsconfig.browser.json')
  expect(new Set(files)).toEqual(new Set(inPages.map((name) => entries[name]?.replace('src/', ''))))
})

const { outputFiles, metafile } = await build({
  entryPoints: Object.fromEntries(Object.entries(entries).map(([name, entry]) => [name, root + entry])),
  outdir: '/out',
  bundle: true,
  write: false,
  metafile: true,
  format: 'iife',
  platform: 'neutral',
  target: 'es2022',
  external: ['node:*', 'react', 'vue', 'solid-js', '@hono/node-server', '@opentelemetry/api'],
  // A bundler would drop a statement that reads a global in vain. Importing the file runs it.
  treeShaking: false,
  logLevel: 'silent',
})

test.each(inPages)('%s reaches nothing of Node', (name) => {
  const output = Object.entries(metafile.outputs).find(([path]) => path.endsWith(`/out/${name}.js`))
  expect(output?.[1].imports.filter(({ path }) => path.startsWith('node:'))).toEqual([])
})

/** Run in a realm: the names of its globals and of what its built-ins offer. */
const allNames = `JSON.stringify([globalThis, ...[Object, Function, Array, Promise, Error, String].flatMap((o) => [o, o.prototype])]
  .map((o) => Reflect.ownKeys(o).map(String)))`

// While they load, oauth4webapi and jose construct text coders and oauth4webapi looks for URL.parse. Constructing a URL throws.
test.each(Object.keys(entries))('%s loads with nothing but the language, and leaves no trace', (name) => {
  const text = outputFiles.find(({ path }) => path === `/out/${name}.js`)?.text ?? ''
  expect(text).not.toBe('')
  const required = ['react', 'vue', 'solid', 'opentelemetry', ...inNode].includes(name)
    ? { require: createRequire(import.meta.url) }
    : {}
  const context = createContext({ TextEncoder, TextDecoder, URL: () => {}, ...required })
  const before: unknown = runInContext(allNames, context)
  runInContext(text, context)
  expect(runInContext(allNames, context)).toBe(before)
})

/** What an entry is made for has to be there first. */
const needed: Record<string, string[]> = {
  react: ['react', 'react/jsx-runtime'],
  vue: ['vue'],
  solid: ['solid-js'],
  'backend/node': ['@hono/node-server'],
  opentelemetry: ['@opentelemetry/api'],
}

/** The core is built on these. The encryption of jose takes most of the time of an import, so it is loaded when it is used. */
const ofTheCore = ['oauth4webapi', 'jose/jwt/decode', 'jose/base64url']

test.each(Object.keys(entries))(
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
