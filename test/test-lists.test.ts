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

test('the tests of a source file have its name', () => {
  const names = new Set(
    sourceFiles(`${root}src`)
      .flatMap((file) => file.split('/'))
      .map((part) => part.replace(/\.ts$/, '')),
  )
  const files = ['bearer', 'config', 'core', 'session', 'storage', 'token-endpoint'].flatMap((room) =>
    readdirSync(`${root}test/${room}`).filter((file) => file.endsWith('.test.ts')),
  )
  expect(files.length).toBeGreaterThan(50)
  expect(files.filter((file) => !names.has(file.replace(/\..*$/, '')))).toEqual([])
})
