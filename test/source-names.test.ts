import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { commentOf, misplaced, nameOf, runsNothing, testsIn } from './support/named-sources.ts'
import { sourceFiles } from './support/source-graph.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
const depthOf = (source: string): number => source.split('/').length

/** Returns where a test may have the name of this source of the library: its name with each folder in which that test can be. */
function placesOf(source: string): string[] {
  const [room = '', ...below] = source.split('/')
  const name = nameOf(source)
  return below.length > 0 && room !== 'internal' ? [`${room}/${name}`] : [`core/${name}`, `${name}/${name}`]
}

/** Returns the sources that have a test of their name. If two in a room have one name, it is the test of that with the shorter path. */
function sourcesWithTest(sources: readonly string[], tests: readonly string[]): Set<string> {
  const places = new Set(tests.map((file) => `${file.replace(/\/.*$/, '')}/${nameOf(file)}`))
  const found = new Map<string, string>()
  for (const source of sources.toSorted((one, other) => depthOf(one) - depthOf(other)))
    for (const place of placesOf(source)) if (places.has(place) && !found.has(place)) found.set(place, source)
  return new Set(found.values())
}

test('each source file of the library is named by the name of a test file of its room, or by the comment of one', () => {
  const tests = testsIn('test')
  expect(misplaced(tests, 'src')).toEqual([])
  const named = new Set(tests.flatMap(({ text }) => commentOf(text, 'src')?.paths ?? []))
  expect(named.size).toBeGreaterThan(100)
  expect([...named].filter((path) => !existsSync(root + path))).toEqual([])
  const sources = sourceFiles(`${root}src`)
  const files = tests.map(({ file }) => file)
  const tested = sourcesWithTest(sources, files)
  const unnamed = sources.filter((file) => !tested.has(file) && !named.has(`src/${file}`))
  expect(unnamed.filter((file) => !runsNothing(`src/${file}`))).toEqual([])
})

/** Returns whether a test of this name is the test of this source: each other source of the same name lies deeper. */
function isHighestOfItsName(source: string, sources: readonly string[]): boolean {
  const notDeeper = sources.filter((other) => nameOf(other) === nameOf(source) && depthOf(other) <= depthOf(source))
  return notDeeper.length === 1
}

test('each source file of the service is named by the name of a test file, or by the comment of one', () => {
  const tests = testsIn('service/test')
  expect(misplaced(tests, 'service/src')).toEqual([])
  const sources = sourceFiles(`${root}service/src`)
  const comments = tests.flatMap(({ file, text }) => {
    const comment = commentOf(text, 'service/src')
    return comment ? [{ file, ...comment }] : []
  })
  const names = new Set(sources.map(nameOf))
  const beginningOf = (file: string): string => (names.has(nameOf(file)) ? 'Also tests' : 'Tests')
  expect(comments.filter(({ file, begins }) => begins !== beginningOf(file)).map(({ file }) => file)).toEqual([])
  const named = new Set(comments.flatMap(({ paths }) => paths))
  expect(named.size).toBeGreaterThan(150)
  expect([...named].filter((path) => !existsSync(root + path))).toEqual([])
  const tested = new Set(tests.map(({ file }) => nameOf(file)))
  const unnamed = sources
    .filter((file) => !named.has(`service/src/${file}`))
    .filter((file) => !tested.has(nameOf(file)) || !isHighestOfItsName(file, sources))
  expect(unnamed.filter((file) => !runsNothing(`service/src/${file}`))).toEqual([])
})
