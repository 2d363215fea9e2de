import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { siteSections } from '../scripts/docs/site-map.ts'
// A test of its own, as the page on tests shows it.
import '../docs/snippets/tests.ts'

const root = new URL('../', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8')

const guides = readdirSync(new URL('docs', root), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.md') && !/^decisions\/\d/.test(file))
  .map((file) => `docs/${file}`)
const pages = ['README.md', ...guides].map(read).join('\n')

/** Without the line that tells the type checker whose JSX it is. */
const snippet = (path: string): string => read(path).replace(/^\/\*\* @jsxImportSource .*\n/, '')

test.each([
  'examples/frameworks/clients.ts',
  'examples/frameworks/vue/App.test.ts',
  'examples/frameworks/models.test.ts',
  'examples/frameworks/vue/models.spec.ts',
  ...['docs/snippets', 'examples/node-backend/adapters'].flatMap((folder) =>
    readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' })
      .filter((file) => /(?<!\.d)\.(tsx?|mjs)$/.test(file) && !/^(next|backend)\b|node_modules|my-storage/.test(file))
      .map((file) => `${folder}/${file}`),
  ),
])('a page shows %s, which is compiled or run, as it is', (file) => {
  expect(pages).toContain(`\n${snippet(file)}\`\`\`\n`)
})

test('each code block of docs/frameworks.md is a file of the examples', () => {
  const files = ['examples/frameworks/', 'examples/node-backend/adapters/'].flatMap((folder) =>
    readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.(ts|svelte|vue)$/.test(file) && !/node_modules|\.svelte-kit|\.react-router/.test(file))
      .map((file) => read(folder + file)),
  )
  const blocks = [...read('docs/frameworks.md').matchAll(/^```(?:ts|svelte|vue)\n([\s\S]*?)^```$/gm)]
  expect(blocks.length).toBeGreaterThan(0)
  expect(blocks.filter(([, code]) => !files.includes(code ?? ''))).toEqual([])
})

test('the page of all guides links each of them, and the site has each once', () => {
  const links = [...read('docs/README.md').matchAll(/\]\(([^)#]+)\)/g)].map(([, path]) => `docs/${path}`)
  expect(guides.filter((page) => page !== 'docs/README.md' && !links.includes(page))).toEqual([])
  const files = siteSections.flatMap(({ pages }) => pages.map(({ file }) => file))
  expect(files.filter((file) => file.startsWith('docs/')).sort()).toEqual([...guides].sort())
})

test('the first page of the site begins as the README, asks for the framework next, and has no diagram', () => {
  expect(siteSections[0]?.pages[0]).toEqual({ file: 'docs/README.md', url: 'index' })
  const page = read('docs/README.md')
  const [opening = 'none'] = /^.*?npm install agent-auth\n```\n\n/s.exec(read('README.md')) ?? []
  expect(page.slice(0, opening.length)).toBe(opening)
  expect(page.slice(opening.length)).toMatch(/^\| Your framework \|/)
  expect(page).not.toContain('![')
})
