import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const read = (path: string): string => readFileSync(new URL(`../../docs/${path}`, import.meta.url), 'utf8')

test.each(['node-backend.ts', 'telemetry.ts'])('the guide shows %s as the type checker compiles it', (snippet) => {
  expect(read('backend.md')).toContain(`\`\`\`ts\n${read(`snippets/${snippet}`)}\`\`\``)
})

test.each(['backend.md', 'which.md'])('%s links only to pages that exist', (page) => {
  const links = [...read(page).matchAll(/\]\(([^)#]+)/g)].map(([, path]) => path ?? '')
  expect(links.length).toBeGreaterThan(0)
  for (const path of links) expect(read(path).length).toBeGreaterThan(0)
})
