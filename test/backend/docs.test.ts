import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const read = (path: string): string => readFileSync(new URL(`../../docs/${path}`, import.meta.url), 'utf8')

test.each(['node-backend.ts', 'node-page.ts', 'telemetry.ts', 'backend-page.ts'])(
  'the guide shows %s as the type checker compiles it',
  (snippet) => {
    expect(read('backend.md')).toContain(`\`\`\`ts\n${read(`snippets/${snippet}`)}\`\`\``)
  },
)

test.each(['backend.ts', 'fastify.ts', 'express.ts', 'hono.ts', 'node-http.ts'])(
  'the page on frameworks shows the app %s that tests log in to',
  (app) => {
    expect(read('frameworks.md')).toContain(`\`\`\`ts\n${read(`../examples/node-backend/adapters/${app}`)}\`\`\``)
  },
)

test('the guide mounts the backend with the lines of the apps that its table links', () => {
  const rows = [...read('backend.md').matchAll(/^\| .* \| `(.*)` \| .* \| \[.*\]\((.*\.md).*\) \|$/gm)]
  expect(rows).toHaveLength(5)
  for (const [, line = '', page = ''] of rows) {
    const code = read(page).replaceAll('theBackend()', 'backend')
    expect(code).toContain(line.replace('createServer(toNodeHandler(backend))', 'toNodeHandler(backend)'))
  }
})

test.each(['backend.md', 'frameworks.md', 'which.md'])('%s links only to pages that exist', (page) => {
  const links = [...read(page).matchAll(/\]\(([^)#]+)/g)].map(([, path]) => path ?? '')
  expect(links.length).toBeGreaterThan(0)
  for (const path of links) expect(read(path).length).toBeGreaterThan(0)
})

test('the page and the docstrings of each mount say why a framework answers 404', () => {
  const page = read('backend.md')
  const section = page.split('\n## ').find((text) => text.startsWith('If something answers 404\n'))
  const mounts = ["app.use('/auth', …)", "app.get('/auth/*rest', …)", "app.all('/auth/*', …)", 'Next.js', 'in a scope']
  for (const mount of mounts) expect(section).toContain(mount)
  expect(read('frameworks.md')).toContain(
    'A listener that only creates it, as in `createServer(() => { toNodeHandler(backend) })`,\n  responds to no request',
  )
  for (const source of ['backend.ts', 'node/handler.ts', 'node/fastify.ts'])
    expect(read(`../src/backend/${source}`)).toMatch(/^ +\* .*404/m)
})

test.each(['start/backend.md', 'snippets/backend.ts', '../examples/node-backend/src/app.ts'])(
  '%s shows a signed-in page only for a status that says so, because without await it is undefined',
  (page) => {
    expect(read(page)).toContain("status === 'signed-in' || status === 'needs_refresh'")
    expect(read(page)).not.toContain("status === 'signed-out' ?")
  },
)
