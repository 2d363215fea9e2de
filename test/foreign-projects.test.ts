// @module-tag slow

import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createAuthConfig } from 'agent-auth'
import ts from 'typescript'
import { afterAll, beforeAll, expect, test } from 'vitest'

// What users copy, in a project of theirs: the type checker with the options of `tsc --init` or of a new Next.js app.

const root = fileURLToPath(new URL('../', import.meta.url))
const example = `${root}examples/node-backend`

/** Where packages resolve as for the example. Next resolves its own types from here as well. */
let folder: string
beforeAll(() => {
  mkdirSync(`${example}/dist`, { recursive: true })
  folder = mkdtempSync(`${example}/dist/foreign-`)
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
})
afterAll(() => {
  parsed.clear()
  rmSync(folder, { recursive: true, force: true })
})

const own = {
  'agent-auth': [`${root}src/index.ts`],
  'agent-auth/*': [`${root}src/*/index.ts`],
  'agent-service': [`${root}service/src/index.ts`],
}

const common: ts.CompilerOptions = {
  strict: true,
  isolatedModules: true,
  skipLibCheck: true,
  jsx: ts.JsxEmit.ReactJSX,
  types: ['node'],
  noEmit: true,
  paths: own,
}

/** The file that `tsc --init` writes, with the types of Node as its comment says. */
const init: ts.CompilerOptions = {
  ...common,
  module: ts.ModuleKind.NodeNext,
  target: ts.ScriptTarget.ESNext,
  declaration: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  verbatimModuleSyntax: true,
  noUncheckedSideEffectImports: true,
  moduleDetection: ts.ModuleDetectionKind.Force,
}

/** As create-next-app and create-vite write it, without `allowImportingTsExtensions`. */
const bundled: ts.CompilerOptions = {
  ...common,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  target: ts.ScriptTarget.ES2022,
  lib: ['lib.dom.d.ts', 'lib.dom.iterable.d.ts', 'lib.esnext.d.ts'],
}

/** The files that were parsed, because most are the same in every project. A mode of modules changes how one is read. */
const parsed = new Map<string, ts.SourceFile | undefined>()

function sharedHost(options: ts.CompilerOptions): ts.CompilerHost {
  const host = ts.createCompilerHost(options)
  const read = host.getSourceFile
  return {
    ...host,
    // As tsc does: what comments say matters to editors.
    jsDocParsingMode: ts.JSDocParsingMode.ParseForTypeErrors,
    getSourceFile(path, version, ...rest) {
      const key = `${options.module} ${path}`
      if (!parsed.has(key)) parsed.set(key, read(path, version, ...rest))
      return parsed.get(key)
    },
  }
}

/** Returns what the type checker says of the copied files. The sources of the packages are checked elsewhere. */
function problemsIn(project: string, options: ts.CompilerOptions): string[] {
  const files = readdirSync(project, { recursive: true, encoding: 'utf8' }).filter((path) => /\.tsx?$/.test(path))
  const rootNames = files.map((path) => join(project, path))
  const program = ts.createProgram({ rootNames, options, host: sharedHost(options) })
  const sources = program.getSourceFiles().filter(({ fileName }) => fileName.startsWith(project))
  expect(sources.length).toBe(files.length)
  return sources.flatMap((source) =>
    [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map(
      ({ messageText }) =>
        `${relative(project, source.fileName)}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`,
    ),
  )
}

function blocksOf(page: string): string[] {
  return [...readFileSync(`${root}${page}`, 'utf8').matchAll(/```tsx?\n([\s\S]*?)```/g)].map(([, code = '']) => code)
}

test('the adapters for servers, with the two files that they share, compile with the options of tsc --init', () => {
  const project = join(folder, 'servers')
  for (const file of ['backend.ts', 'settings.ts']) cpSync(`${example}/src/${file}`, `${project}/src/${file}`)
  for (const file of readdirSync(`${example}/adapters`).filter((name) => name.endsWith('.ts')))
    cpSync(`${example}/adapters/${file}`, `${project}/adapters/${file}`)
  expect(problemsIn(project, init)).toEqual([])
})

test('the adapter for Next.js alone compiles with the options of a new Next.js app', () => {
  const project = join(folder, 'next')
  cpSync(`${example}/adapters/next`, project, { recursive: true, filter: (path) => !/\.next|\.json$/.test(path) })
  expect(problemsIn(project, bundled)).toEqual([])
})

const shown = ['README.md', 'docs/start/react.md', 'docs/start/backend.md', 'docs/testing.md', 'docs/storage.md']
const snippets = ['spa.ts', 'react.tsx', 'backend.ts', 'storages.ts', 'tests.ts'].map((file) =>
  readFileSync(`${root}docs/snippets/${file}`, 'utf8').replace(/^\/\*\* @jsxImportSource .*\n/, ''),
)

test('the code of README and its pages, and how to read an .env, compile with the options of tsc --init [F110]', () => {
  const project = join(folder, 'readme')
  mkdirSync(project)
  const blocks = shown.flatMap(blocksOf).filter((code) => snippets.includes(code))
  expect(blocks.length).toBe(snippets.length)
  for (const [index, code] of blocks.entries()) writeFileSync(`${project}/block-${index}.tsx`, code)
  const [, inNode = '', inVite = ''] =
    /`(process\.env\.\w+ \?\? '')`[^`]*`(import\.meta\.env\.\w+ \?\? '')`/.exec(
      readFileSync(`${root}docs/start/try.md`, 'utf8').replaceAll('\n', ' '),
    ) ?? []
  const types = "import 'vite/client'\nimport { createAuthConfig } from 'agent-auth'\n"
  const code = `createAuthConfig({ authUrl: ${inNode}, baseUrl: ${inVite}, clientId: 'x', redirectUri: 'x' })\n`
  writeFileSync(`${project}/env.ts`, types + code)
  expect([problemsIn(project, init), inNode]).toEqual([[], "process.env.AGENT_AUTH_URL ?? ''"])
})

test.each(['authUrl', 'baseUrl', 'clientId'] as const)(
  'an %s that is empty, as of a missing variable, is named',
  (name) => {
    const origin = 'https://app.example'
    const options = { authUrl: origin, baseUrl: origin, clientId: 'x', redirectUri: `${origin}/callback`, [name]: '' }
    expect(() => createAuthConfig(options)).toThrow(
      expect.objectContaining({ code: 'config_invalid', message: expect.stringContaining(name) }),
    )
  },
)

test('the apps of the page on React compile with the options of a new app of a bundler [F110]', () => {
  const project = join(folder, 'react')
  cpSync(`${root}docs/snippets/routers`, project, { recursive: true })
  expect(problemsIn(project, bundled)).toEqual([])
})
