import { existsSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { mapText, summaryOf, titleOf } from '../scripts/docs/markdown.ts'
import { siteSections, urlOf } from '../scripts/docs/site-map.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
const files = siteSections.flatMap(({ pages }) => pages.map(({ file }) => file))

test('the navigation of the site has every page of docs but the decisions, each once', () => {
  const guides = readdirSync(`${root}docs`, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md') && !/^decisions\/\d/.test(file))
    .map((file) => `docs/${file}`)
  expect(files.filter((file) => file.startsWith('docs/')).sort()).toEqual(guides.sort())
  expect(files.filter((file, index) => files.indexOf(file) !== index)).toEqual([])
  expect(files.filter((file) => !existsSync(root + file))).toEqual([])
})

test('the page of a folder is its index, and no two pages have one URL', () => {
  expect(['docs/README.md', 'docs/decisions/README.md', 'service/README.md', 'docs/errors.md'].map(urlOf)).toEqual([
    'index',
    'decisions/index',
    'agent-service/index',
    'errors',
  ])
  expect(new Set(files.map(urlOf)).size).toBe(files.length)
})

test('links in code are left as they are, and those with code in their label are changed', () => {
  const page = '[a](b) `[a](b)` [`a`](b)\n```md\n[a](b)\n```\n'
  expect(mapText(page, (text) => text.replaceAll('](b)', '](c)'))).toBe(
    '[a](c) `[a](b)` [`a`](c)\n```md\n[a](b)\n```\n',
  )
})

test('llms.txt gets the title and the first paragraph of a page without marks', () => {
  const page = '# The `x`\n\n<!-- note -->\n\n![picture](p.png)\n\nReturns **one** [value](v.md)\nof `x`.\n\nMore.\n'
  expect({ title: titleOf(page), summary: summaryOf(page) }).toEqual({
    title: 'The x',
    summary: 'Returns one value of x.',
  })
})
