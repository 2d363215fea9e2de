import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')

describe('README', () => {
  it('shows exactly the snippets that the type checker compiles', () => {
    const blocks = [...read('README.md').matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code)
    expect(blocks).toEqual([read('docs/snippets/spa.ts'), read('docs/snippets/backend.ts')])
  })

  it.each(['redis', 'postgres'])('the page on %s shows the snippet that the type checker compiles', (page) => {
    const blocks = [...read(`docs/${page}.md`).matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code)
    expect(blocks).toEqual([read(`docs/snippets/${page}.ts`)])
  })

  it('links only to pages that exist', () => {
    const links = [...read('README.md').matchAll(/\]\(([^)#]+)\)/g)].map(([, path]) => path ?? '')
    for (const path of links.filter((link) => link !== 'docs/decisions')) expect(read(path).length).toBeGreaterThan(0)
    expect(links.length).toBeGreaterThan(5)
  })
})
