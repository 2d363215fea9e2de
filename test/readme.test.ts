import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
// A test of its own, as the page on tests shows it.
import '../docs/snippets/tests.ts'

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')

/** Without the line that tells the type checker whose JSX it is. */
const snippet = (file: string): string => read(`docs/snippets/${file}`).replace(/^\/\*\* @jsxImportSource .*\n/, '')

const blocks = (page: string): (string | undefined)[] =>
  [...read(page).matchAll(/```tsx?\n([\s\S]*?)```/g)].map(([, code]) => code)

const guides = readdirSync(new URL('../docs', import.meta.url), { recursive: true, encoding: 'utf8' }).filter(
  (file) => file.endsWith('.md') && file !== 'README.md' && !/^decisions\/\d/.test(file),
)

describe('README', () => {
  it('shows exactly the snippets that the type checker compiles', () => {
    expect(blocks('README.md')).toEqual([snippet('spa.ts')])
  })

  it('has at most 90 lines, the first commands and the command of the tests', () => {
    const lines = read('README.md').trimEnd().split('\n')
    expect(lines.length).toBeLessThanOrEqual(90)
    for (const command of ['npm ci && npm run demo', 'npm run example:spa', 'npm ci && npm test'])
      expect(lines.join('\n')).toContain(command)
  })

  it.each([
    ['start/react.md', 'react.tsx'],
    ['start/backend.md', 'backend.ts'],
    ['storage.md', 'storages.ts'],
  ])('the page %s shows the snippet %s that the type checker compiles', (page, file) => {
    expect(blocks(`docs/${page}`)).toContain(snippet(file))
  })

  it.each(['postgres', 'stages', 'node'])('the page on %s shows the snippet that the type checker compiles', (page) => {
    expect(blocks(`docs/${page}.md`)).toEqual([snippet(`${page}.ts`)])
  })

  it('the quick start of the command line shows the tool that is among the snippets', () => {
    expect(read('docs/start/cli.md')).toContain(`\`\`\`js\n${read('docs/snippets/tool.mjs')}\`\`\`\n`)
  })

  it('the page on redis shows the snippet that the type checker compiles, and the client that tests use', () => {
    expect(blocks('docs/redis.md')).toEqual([snippet('redis.ts'), snippet('redis-wait.ts')])
  })

  it('the page on React shows the apps that the browser tests run', () => {
    const shared = ['door.tsx', 'settings.ts', 'auth.ts', 'api.ts', 'agent-list.tsx']
    const files = [...shared, 'react-router.tsx', 'browser-router.tsx', 'tanstack-router.tsx']
    expect(blocks('docs/react.md')).toEqual([
      ...files.map((file) => snippet(`routers/${file}`)),
      snippet('testing/route.tsx'),
    ])
  })

  it('the page on the API client shows the files that the type checker compiles', () => {
    const files = ['client.ts', 'create.ts', 'paging.ts', 'form.ts', 'query.ts', 'ky.ts', 'openapi.fixture.ts']
    expect(blocks('docs/api-client.md')).toEqual(files.map((file) => snippet(`api-client/${file}`)))
  })

  it('the page on testing shows the tests that run', () => {
    const files = ['node-test.ts', 'bad-days.ts', 'react.tsx', 'backend.ts', 'fastify.ts', 'tool.ts', 'playwright.ts']
    expect(blocks('docs/testing.md')).toEqual([snippet('tests.ts'), ...files.map((file) => snippet(`testing/${file}`))])
  })

  it('the page of all guides links every page in docs but the decisions, and README links it', () => {
    const links = [...read('docs/README.md').matchAll(/\]\(([^)#]+)\)/g)].map(([, path]) => path)
    expect(guides.length).toBeGreaterThan(30)
    expect(guides.filter((page) => !links.includes(page))).toEqual([])
    expect(read('README.md')).toContain('](docs/README.md)')
  })
})
