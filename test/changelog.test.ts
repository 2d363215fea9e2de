import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')
const versionOf = (path: string): string => (JSON.parse(read(path)) as { version: string }).version

const changelog = read('CHANGELOG.md')
const version = versionOf('package.json')
const headings = [...changelog.matchAll(/^## (.+)$/gm)].map(([, heading = '']) => heading)
const dates = headings.flatMap((heading) => / - (.+)$/.exec(heading)?.[1] ?? [])

test('each section of the changelog is what is not released yet, or a version with its date, the newest first', () => {
  const form = /^\[Unreleased\]$|^\[\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2}$/
  expect(headings.length).toBeGreaterThan(0)
  expect(headings.filter((heading) => !form.test(heading))).toEqual([])
  expect(headings.lastIndexOf('[Unreleased]')).toBeLessThanOrEqual(0)
  expect(new Set(headings).size).toBe(headings.length)
  expect(dates).toEqual([...dates].sort().reverse())
})

test('the lists of the changelog are those of Keep a Changelog, and none is empty', () => {
  const lists = changelog.split(/^### /m).slice(1)
  const kinds = ['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security']
  expect(lists.map((list) => list.split('\n')[0]).filter((kind = '') => !kinds.includes(kind))).toEqual([])
  expect(lists.filter((list) => !/^- ./m.test(list))).toEqual([])
})

test('both packages have the version that the changelog names as the next or as the last', () => {
  const next = /^Becomes (\d+\.\d+\.\d+)\b/m.exec(changelog)?.[1]
  const last = headings.map((heading) => /^\[(\d.*)\]/.exec(heading)?.[1]).find(Boolean)
  expect(versionOf('service/package.json')).toBe(version)
  expect([next, last]).toContain(version)
})
