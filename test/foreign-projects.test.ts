import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createAuthConfig } from 'agent-auth'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bundled, forgetParsed, init, problemsIn } from './support/foreign-project.ts'

// What users copy, in a project of theirs: the type checker with the options of `tsc --init` or of a new app.

const root = fileURLToPath(new URL('../', import.meta.url))
const example = `${root}examples/node-backend`

/** Where packages resolve as for the example. */
let folder: string
beforeAll(() => {
  mkdirSync(`${example}/dist`, { recursive: true })
  folder = mkdtempSync(`${example}/dist/foreign-`)
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
})
afterAll(() => {
  forgetParsed()
  rmSync(folder, { recursive: true, force: true })
})

function blocksOf(page: string): string[] {
  return [...readFileSync(`${root}${page}`, 'utf8').matchAll(/```tsx?\n([\s\S]*?)```/g)].map(([, code = '']) => code)
}

test('the adapters for servers compile with the options of tsc --init', () => {
  const project = join(folder, 'servers')
  for (const file of readdirSync(`${example}/adapters`).filter((name) => name.endsWith('.ts')))
    cpSync(`${example}/adapters/${file}`, `${project}/adapters/${file}`)
  expect(problemsIn(project, init)).toEqual([])
})

const shown = ['README.md', 'docs/start/react.md', 'docs/start/backend.md', 'docs/testing.md', 'docs/storage.md']
const snippets = ['spa.ts', 'react.tsx', 'backend.ts', 'storages.ts', 'tests.ts'].map((file) =>
  readFileSync(`${root}docs/snippets/${file}`, 'utf8').replace(/^\/\*\* @jsxImportSource .*\n/, ''),
)

test('the code of README and its pages, and how to read an .env, compile with the options of tsc --init', () => {
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
  expect({ problems: problemsIn(project, init), inNode }).toEqual({
    problems: [],
    inNode: "process.env.AGENT_AUTH_URL ?? ''",
  })
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

test('the apps of the page on React compile with the options of a new app of a bundler', () => {
  const project = join(folder, 'react')
  cpSync(`${root}docs/snippets/routers`, project, { recursive: true })
  expect(problemsIn(project, bundled)).toEqual([])
})
