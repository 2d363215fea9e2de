import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { userTexts } from 'agent-auth/texts'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../', import.meta.url))
const { scripts } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { scripts: Record<string, string> }

const pages = pagesIn(root).map((path) => ({ path, text: readFileSync(path, 'utf8') }))

function pagesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return /^(node_modules|dist|\..*)$/.test(entry.name) ? [] : pagesIn(path)
    return entry.name.endsWith('.md') ? [path] : []
  })
}

/** What is shown as code is no link. */
function linksOf(text: string): string[] {
  const prose = text.replace(/```[\s\S]*?```|`[^`\n]*`(?!\])/g, '')
  const found = [...prose.matchAll(/\]\(([^)\s]+)\)|\b(?:src|srcset|href)="([^"]+)"/g)]
  return found.map(([, link, attribute]) => link ?? attribute ?? '').filter((link) => !/^[a-z]+:/.test(link))
}

/** The anchors of a page's headings, as they are made from their text. */
function anchorsOf(text: string): string[] {
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading)
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

test('every relative link and picture of every page leads to a file, and its anchor to a heading', () => {
  const broken = pages.flatMap(({ path, text }) =>
    linksOf(text)
      .filter((link) => {
        const [file = '', anchor] = link.split('#')
        const target = file === '' ? path : join(dirname(path), file)
        if (!existsSync(target)) return true
        return anchor !== undefined && !anchorsOf(readFileSync(target, 'utf8')).includes(anchor)
      })
      .map((link) => `${relative(root, path)}: ${link}`),
  )
  expect(broken).toEqual([])
  expect(pages.flatMap(({ text }) => linksOf(text)).length).toBeGreaterThan(50)
})

test('every command that a page names is there', () => {
  const named = pages.flatMap(({ path, text }) =>
    [...text.matchAll(/\bnpm run (?:-s )?([a-z][\w:-]*)/g)].map(([, name = '']) => ({
      name,
      page: relative(root, path),
    })),
  )
  expect(named.length).toBeGreaterThan(20)
  expect(named.filter(({ name }) => !(name in scripts))).toEqual([])
})

test('every entry that a page names is exported', () => {
  const { exports } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { exports: Record<string, unknown> }
  const named = pages.flatMap(({ text }) =>
    [...text.matchAll(/["'`]agent-auth\/([a-z/]+)["'`]/g)].map(([, entry]) => entry),
  )
  expect(named.length).toBeGreaterThan(20)
  expect(named.filter((entry) => !(`./${entry}` in exports))).toEqual([])
})

test('the page of errors has a section for each code', () => {
  const sections = readFileSync(`${root}docs/errors.md`, 'utf8').matchAll(/^## `([a-z_]+)`$/gm)
  expect([...sections].map(([, code]) => code).sort()).toEqual(Object.keys(userTexts).sort())
})
