import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { OptionKind } from '../src/config/check-options.ts'
import { authOptionKinds } from '../src/config.ts'

const page = readFileSync(new URL('../docs/configuration.md', import.meta.url), 'utf8')

/** The rows of the first table. */
const rows = [...page.matchAll(/^\| `(\w+)` \| ([^|]*) \| ([^|]*) \|/gm)].map(
  ([, name = '', type = '', fallback = '']) => ({
    name,
    type,
    fallback,
  }),
)

/** As the table writes a kind. */
function typeOf(kind: OptionKind): string {
  if (typeof kind === 'string') return kind
  return 'oneOf' in kind ? kind.oneOf.map((text) => `\`${text}\``).join(', ') : 'object'
}

// The table of kinds has the type OptionKinds<AuthConfigOptions>: a member that it lacks does not compile.
test('the page on configuration lists every option of createAuthConfig once, with its type', () => {
  expect(rows.map(({ name, type }) => ({ name, type }))).toEqual(
    Object.entries(authOptionKinds).map(([name, kind]) => ({ name, type: typeOf(kind) })),
  )
})

test('the page on configuration says which options are required', () => {
  const required = rows.filter(({ fallback }) => fallback === 'required').map(({ name }) => name)
  expect(required).toEqual(['authUrl', 'baseUrl', 'clientId', 'redirectUri'])
})

test.each(['README.md', 'docs/browser.md', 'docs/backend.md', 'docs/stages.md'])('%s links the table', (path) => {
  expect(readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')).toMatch(/\]\((docs\/)?configuration\.md\)/)
})
