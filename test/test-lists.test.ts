import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type ts from 'typescript'
import { expect, test } from 'vitest'
import { compiler } from '../scripts/typescript.ts'
import { parse, sourceFiles } from './support/source-graph.ts'
import { databaseTests, e2eTests, repositoryTests, unitTests } from './support/test-lists.ts'

const root = fileURLToPath(new URL('../', import.meta.url))

test('every file and folder that the lists of test projects name is there', () => {
  const named = [...databaseTests, ...unitTests, ...repositoryTests, ...e2eTests]
  const missing = named.filter((pattern) => !existsSync(root + pattern.replace(/\*\*.*$/, '')))
  expect(missing).toEqual([])
})

test('the list for PostgreSQL names every test that runs on nothing else', () => {
  const only = readdirSync(`${root}service/test`).filter((file) => file.endsWith('.postgres.test.ts'))
  expect(only.length).toBeGreaterThan(0)
  expect(only.filter((file) => !databaseTests.includes(`service/test/${file}`))).toEqual([])
})

test('every test that needs Chromium is one of npm run test:e2e', () => {
  const inChromium = ['test', 'service/test'].flatMap((folder) =>
    sourceFiles(root + folder)
      .filter((name) => name.endsWith('.test.ts'))
      .map((name) => `${folder}/${name}`)
      .filter((file) => readFileSync(root + file, 'utf8').startsWith('// @module-tag chromium\n')),
  )
  expect(inChromium.length).toBeGreaterThan(10)
  const run = e2eTests.map((pattern) => pattern.replace(/\*\*.*$/, ''))
  expect(inChromium.filter((file) => !run.some((beginning) => file.startsWith(beginning)))).toEqual([])
})

test('each test file of these rooms begins with the name of a source file or entry', () => {
  const sources = sourceFiles(`${root}src`).map((file) => file.replace(/\.ts$/, '').split('/'))
  const files = ['bearer', 'config', 'core', 'session', 'storage', 'token-endpoint'].flatMap((room) =>
    readdirSync(`${root}test/${room}`)
      .filter((file) => file.endsWith('.test.ts'))
      .map((file) => ({ room, file, name: file.replace(/\..*$/, '') })),
  )
  expect(files.length).toBeGreaterThan(50)
  const strangers = files.filter(({ room, name }) => {
    const isOf = ([first, ...rest]: string[]): boolean =>
      first === name || ((first === room || first === 'internal') && rest.includes(name))
    return !sources.some(isOf)
  })
  expect(strangers).toEqual([])
})

/** The tests of the library, relative to `test`, with their texts. */
function libraryTests(): { file: string; text: string }[] {
  return sourceFiles(`${root}test`)
    .filter((file) => /\.test\.tsx?$/.test(file))
    .map((file) => ({ file, text: readFileSync(`${root}test/${file}`, 'utf8') }))
}

/** Returns the sources that the comment above the first import names, or undefined if there is no such comment. */
function sourcesNamedIn(text: string): string[] | undefined {
  const head = text.slice(0, text.search(/^import /m))
  const [, paths] = /(?:^|\n)\/\/ (?:Tests|Also tests) (src\/.+(?:\n\/\/ src\/.+)*)\.\n$/.exec(head) ?? []
  return paths?.replaceAll('\n//', '').split(', ')
}

/** Returns the name of a source or test file up to the first dot. An `index.ts` has the name of its folder. */
function nameOf(file: string): string {
  return file
    .replace(/\/index\.ts$/, '')
    .replace(/^.*\//, '')
    .replace(/\..*$/, '')
}

/** Returns where a test may have the name of this source: its name with each folder in which that test can be. */
function placesOf(source: string): string[] {
  const [room = '', ...below] = source.split('/')
  const name = nameOf(source)
  return below.length > 0 && room !== 'internal' ? [`${room}/${name}`] : [`core/${name}`, `${name}/${name}`]
}

/** Returns the sources that have a test of their name. If two in a room have one name, it is the test of that with the shorter path. */
function sourcesWithTest(sources: readonly string[], tests: readonly string[]): Set<string> {
  const places = new Set(tests.map((file) => `${file.replace(/\/.*$/, '')}/${nameOf(file)}`))
  const depthOf = (source: string): number => source.split('/').length
  const found = new Map<string, string>()
  for (const source of sources.toSorted((one, other) => depthOf(one) - depthOf(other)))
    for (const place of placesOf(source)) if (places.has(place) && !found.has(place)) found.set(place, source)
  return new Set(found.values())
}

function isTypeOnly(statement: ts.Statement): boolean {
  return (
    compiler.isImportDeclaration(statement) ||
    compiler.isInterfaceDeclaration(statement) ||
    compiler.isTypeAliasDeclaration(statement) ||
    compiler.isExportDeclaration(statement)
  )
}

test('each source file is named by the name of a test file of its room, or by the comment of one', () => {
  const tests = libraryTests()
  const misplaced = tests.filter(({ text }) => /^\/\/ (?:Tests|Also tests) src\//m.test(text) && !sourcesNamedIn(text))
  expect(misplaced.map(({ file }) => file)).toEqual([])
  const named = new Set(tests.flatMap(({ text }) => sourcesNamedIn(text) ?? []))
  expect(named.size).toBeGreaterThan(100)
  expect([...named].filter((path) => !existsSync(root + path))).toEqual([])
  const sources = sourceFiles(`${root}src`)
  const tested = sourcesWithTest(
    sources,
    tests.map(({ file }) => file),
  )
  const unnamed = sources.filter((file) => !tested.has(file) && !named.has(`src/${file}`))
  expect(unnamed.filter((file) => !parse(`${root}src/${file}`).statements.every(isTypeOnly))).toEqual([])
})
