import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { allRows, requirementsPage } from '../scripts/requirements-page.ts'
import { sourceFiles } from './support/source-graph.ts'

const root = fileURLToPath(new URL('../', import.meta.url))

test('docs/requirements.md is what npm run requirements writes', () => {
  expect(readFileSync(`${root}docs/requirements.md`, 'utf8')).toBe(requirementsPage())
})

test('docs/requirements.md explains every id that a test names, in one sentence', () => {
  const named = ['test', 'service/test'].flatMap((folder) =>
    sourceFiles(`${root}${folder}`)
      .filter((file) => /\.test\.tsx?$/.test(file))
      .flatMap(
        (file) => readFileSync(`${root}${folder}/${file}`, 'utf8').match(/\b(?:[CSPF]-\d{2,3}|F\d{3})\b/g) ?? [],
      ),
  )
  expect(new Set(named).size).toBeGreaterThan(200)
  const rows = allRows()
  const unexplained = [...new Set(named)].filter((id) => !(id in rows)).sort()
  expect(unexplained, 'give these a sentence in test/rows-beyond.json, then npm run requirements').toEqual([])
  expect(Object.values(rows).filter((sentence) => !/^\S.{10,}\.$/.test(sentence))).toEqual([])
})
