import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { sourceFiles } from './support/source-graph.ts'
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
