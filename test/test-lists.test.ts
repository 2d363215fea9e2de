import { existsSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { browserTests, databaseTests, unitTests } from './support/test-lists.ts'

const root = fileURLToPath(new URL('../', import.meta.url))

test('every file and folder that the lists of test projects name is there', () => {
  const named = [...databaseTests, ...unitTests, ...browserTests]
  const missing = named.filter((pattern) => !existsSync(root + pattern.replace(/\*\*.*$/, '')))
  expect(missing).toEqual([])
})

test('the list for PostgreSQL names every test that runs on nothing else', () => {
  const only = readdirSync(`${root}service/test`).filter((file) => file.endsWith('.postgres.test.ts'))
  expect(only.length).toBeGreaterThan(0)
  expect(only.filter((file) => !databaseTests.includes(`service/test/${file}`))).toEqual([])
})
