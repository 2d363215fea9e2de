import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { allRows, requirementsPage } from '../scripts/requirements-page.ts'
import { fieldRows, fieldTitles, filesOf, notOurs } from './support/field-rows.ts'
import { asTitle, type Title, testTitles } from './support/titles.ts'

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')
/** As ids are written, and as they once were. */
const id = /\b(?:[A-Z]-\d{1,3}|[FI]\d{1,3})\b/
const isSentence = ({ sentence }: Title): boolean => !id.test(sentence) && !/^issue\b/.test(sentence)
const titles = testTitles()

test('docs/requirements.md is what npm run requirements writes', () => {
  expect(read('docs/requirements.md')).toBe(requirementsPage())
})

test('every id that a title names is explained in a sentence', () => {
  const rows = allRows()
  const decisions = read('service/ASSUMPTIONS.md').match(/(?<=^\| )A-\d+(?= \|)/gm) ?? []
  const explained = new Set([...Object.keys(rows), ...decisions])
  const named = titles.flatMap(({ file, ids }) => ids.map((id) => ({ file, id })))
  expect(new Set(named.map(({ id }) => id)).size).toBeGreaterThan(200)
  const unexplained = named.filter(({ id }) => !explained.has(id))
  expect(unexplained, 'give these a sentence in test/rows-beyond.json, then npm run requirements').toEqual([])
  expect(Object.values(rows).filter((sentence) => !/^\S.{10,}\.$/.test(sentence))).toEqual([])
})

test('every failure of the field has a test that names it, or a reason why this project cannot have it', () => {
  const rows = fieldRows()
  const named = new Set(fieldTitles(titles).flatMap(({ ids }) => ids))
  expect(rows.filter((id) => !named.has(id))).toEqual([])
  const others = Object.entries(notOurs())
  expect(rows.length + others.length).toBe(96)
  const sentence = expect.stringMatching(/^[A-Z].{20,}\.$/)
  for (const [id, { failure, reason }] of others) {
    expect({ isRow: rows.includes(id), isNamed: named.has(id) }).toEqual({ isRow: false, isNamed: false })
    expect({ id, failure, reason }).toEqual({
      id: expect.stringMatching(/^F\d{3}$/),
      failure: sentence,
      reason: sentence,
    })
  }
})

test('npm run test:field runs all tests that name a failure of the field, also those of modules that tests share', () => {
  const ours = fieldTitles(titles)
  const files = filesOf(ours, titles)
  expect(ours.map(({ file }) => file).filter((file) => file.includes('.test.') && !files.includes(file))).toEqual([])
  expect(files).toContain('test/react/jsdom.test.ts')
})

test('every title is a sentence, with ids in brackets at its end only', () => {
  expect(titles.length).toBeGreaterThan(2_000)
  const others = titles.filter((title) => !isSentence(title)).map(({ file, title }) => `${file}: ${title}`)
  expect(others, 'write the sentence first: refuses a spent code [C-021]').toEqual([])
})

test.each([
  'C-021 refuses a spent code',
  'refuses a spent code: F011',
  'refuses [C-021] a spent code',
  'F033 the scope stays',
  'I1 one request at a time',
  'issue: the table is complete',
])('%j is no sentence with ids at its end', (title) => {
  expect(isSentence(asTitle('a.test.ts', title))).toBe(false)
})

test('a sentence with ids at its end, or with none, is a title', () => {
  const title = asTitle('a.test.ts', 'refuses a spent code [C-021 F011]')
  expect(title).toMatchObject({ sentence: 'refuses a spent code', ids: ['C-021', 'F011'] })
  expect(isSentence(title)).toBe(true)
  expect(isSentence(asTitle('a.test.ts', 'the challenge is the S256 of UTF-8'))).toBe(true)
})
