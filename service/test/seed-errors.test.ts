import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { failureText } from '../src/cli/failures.ts'
import { loadSeed } from '../src/seed/load-seed.ts'
import { SeedError } from '../src/seed/seed-error.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agent-service-seed-'))
})
afterAll(() => rm(folder, { recursive: true }))

/** The message about a seed file, from its line on. */
async function messageOf(text: string | Uint8Array, name = 'seed.yaml'): Promise<string> {
  const file = join(folder, name)
  await writeFile(file, text)
  const error: unknown = await loadSeed(file).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(SeedError)
  const { message } = error as SeedError
  expect(message.startsWith(`${file}:`)).toBe(true)
  return message.slice(file.length + 1)
}

const head = 'tenants:\n  - id: acme\n'
const client = '    name: Web\n    redirectUris: [http://127.0.0.1/callback]\n'
const agent = '    description: x\n    parent_agent_type: T\n'

test.each([
  ['a cycle', 'tenants: &all\n  - id: acme\n    name: *all\n', '3:11: this alias is inside of what it stands for'],
  ['an unknown anchor', `${head}    name: *nothing\n`, '3:11: this alias has no anchor before it'],
  [
    'a misspelt member',
    `${head}    biling: inactive\n`,
    '3:5: tenants[0].biling: biling is unknown; did you mean billing?',
  ],
  ['a misspelt list', `${head}persons: []\n`, '3:1: persons: persons is unknown; use $schema, hashKey'],
  ['a tenant twice', `${head}  - id: acme\n`, '3:5: tenants[1].id: the same id as tenants[0]'],
  [
    'an email address twice, in other letters',
    `${head}people:\n  - email: a@acme.example\n  - email: A@acme.example\n`,
    '5:5: people[1].email: the same email as people[0]',
  ],
  [
    'a client id twice',
    `${head}clients:\n  - clientId: web\n${client}  - clientId: web\n${client}`,
    '7:5: clients[1].clientId: the same clientId as clients[0]',
  ],
  [
    'two clients of one name without ids',
    `${head}clients:\n  - tenant: acme\n${client}  - tenant: acme\n${client}`,
    '7:5: clients[1].clientId: the same clientId as clients[0]',
  ],
  [
    'two agents with one key',
    `${head}agents:\n  - agent_name: My agent\n${agent}  - agent_name: my_agent\n${agent}`,
    '7:5: agents[1].agent_name: the same agent_name as agents[0]',
  ],
  [
    'a short password',
    `${head}people:\n  - email: a@x.example\n    password: short\n`,
    '5:5: people[0].password: must have 8',
  ],
  [
    'a short secret',
    `${head}clients:\n  - kind: confidential\n    clientSecret: too-short\n${client}`,
    '5:5: clients[0].clientSecret: must have 32 to 256',
  ],
  [
    'a secret of a public client',
    `${head}clients:\n  - clientSecret: ${'x'.repeat(32)}\n${client}`,
    '4:5: clients[0].clientSecret: a public client has no secret',
  ],
  [
    'localhost',
    `${head}clients:\n  - name: Web\n    redirectUris: [http://localhost/cb]\n`,
    '4:5: clients[0]: "http://localhost/cb"',
  ],
  [
    'a hash without its key',
    `${head}people:\n  - email: a@x.example\n    passwordHash: hmac-sha256$${'a'.repeat(43)}\n`,
    'needs the hashKey',
  ],
  ['a number for a text', `${head}    name: 7\n`, '3:5: tenants[0].name: must be text; write it in quotes'],
  ['an unknown tenant', `${head}people:\n  - email: a@x.example\n    tenant: acmee\n`, 'did you mean acme?'],
  [
    'an unknown model',
    `${head}agents:\n  - agent_name: A\n    llm_model: 99\n${agent}`,
    '5:5: agents[0].llm_model: the tenant has no model with',
  ],
  ['a missing member', `${head}people:\n  - name: Ada\n`, '4:5: people[0].email: is missing'],
  ['a misspelt list that is needed', 'tenant: []\n', '1:1: tenant: tenant is unknown; did you mean tenants?'],
  ['no tenant', 'people: []\n', '1:1: tenants: is missing'],
  ['another kind of value', `${head}    billing: paid\n`, '3:5: tenants[0].billing: must be active or inactive'],
  ['two documents', `${head}---\n${head}`, 'not valid YAML: write one document, without ---'],
  ['a member twice in YAML', `${head}    id: globex\n`, '3:5: not valid YAML: Map keys must be unique'],
  [
    'a member twice in JSON',
    '{"tenants": [{"id": "a",\n  "id": "b"}]}',
    '2:3: tenants[0].id: this member is there twice',
  ],
  [
    'JSON with a place',
    '{"tenants": [{"id": "a"}],\n "people": [{"email": 1}]}',
    '2:14: people[0].email: must be text',
  ],
  ['JSON with a comma too many', '{"tenants": [{"id": "a"}], ,}', '1:28: not valid YAML'],
  ['deep nesting in JSON', `${'['.repeat(20_000)}${']'.repeat(20_000)}`, 'nested deeper than 32 levels'],
  ['deep nesting in YAML', `${'['.repeat(2_000)} x ${']'.repeat(2_000)}`, 'nested deeper than 32 levels'],
  ['an empty file', '', '1:1: must be an object'],
])('%s is one error with its place', async (_, text, expected) => {
  expect(await messageOf(text)).toContain(expected)
})

test('aliases may repeat a value many times, but not by powers', async () => {
  const people = Array.from({ length: 300 }, (_, index) => `  - email: p${index}@acme.example\n    permissions: *all\n`)
  const file = join(folder, 'aliases.yaml')
  await writeFile(
    file,
    `people:\n  - email: p@acme.example\n    permissions: &all [api.access]\n${people.join('')}${head}`,
  )
  expect((await loadSeed(file)).people?.[300]?.permissions).toEqual(['api.access'])
  const powers = Array.from({ length: 9 }, (_, level) => {
    return `x${level + 1}: &x${level + 1} [${Array.from({ length: 10 }, () => `*x${level}`).join(', ')}]\n`
  })
  expect(await messageOf(`x0: &x0 [a, b]\n${powers.join('')}`)).toContain('aliases repeat too much')
})

test('no message quotes the file, because a piece of it may be a secret', async () => {
  const secret = 'hidden-0123456789'
  for (const text of [
    `"${secret}": [`,
    `a: ${secret}: b`,
    `tenants: [{id: "${secret} "}]`,
    `{"a": "${secret}" x}`,
    `? ${secret}\n- x`,
  ])
    expect(await messageOf(text)).not.toContain(secret)
})

test('a file that is too large, no file and no text are named', async () => {
  const file = join(folder, 'large.json')
  await writeFile(file, '')
  await truncate(file, 50_000_000)
  await expect(loadSeed(file)).rejects.toThrow(`${file}: larger than the 32 MiB of a seed`)
  await expect(loadSeed(join(folder, 'none.yaml'))).rejects.toThrow('none.yaml: cannot be read (ENOENT)')
  await expect(loadSeed(folder)).rejects.toThrow('cannot be read (EISDIR)')
  expect(await messageOf(Uint8Array.of(0xff, 0xfe, 0x00))).toContain('not UTF-8')
  const large = `${head}    name: ${'x'.repeat(4_200_000)}`
  expect(await messageOf(large)).toContain('neither valid JSON, nor YAML of at most 4 MiB')
})

test('a text of many megabytes in JSON is named like a short one', async () => {
  const name = 'x'.repeat(12_000_000)
  expect(await messageOf(JSON.stringify({ tenants: [{ id: 'acme', name }] }))).toContain(
    '1:26: tenants[0].name: at most 500 characters',
  )
})

test('a seed in code is held to the same rules', async () => {
  const people = [{ email: 'a@x.example' }, { email: 'a@x.example' }]
  const error = loadSeed({ tenants: [{ id: 'acme' }], people })
  await expect(error).rejects.toThrow('seed: people[1].email: the same email as people[0]')
})

test('the command names members of a seed as the file does, also in a file with the name of an option', async () => {
  const file = join(folder, 'log.yaml')
  await writeFile(file, `${head}clients:\n  - name: Web\n    redirectUris: http://127.0.0.1/callback\n`)
  const error: unknown = await loadSeed(relative('.', file)).catch((reason: unknown) => reason)
  expect(failureText(error, undefined)).toBe(`${relative('.', file)}:5:5: clients[0].redirectUris: must be a list`)
  expect(failureText(new SeedError('may not be empty', { file: 'log.yaml' }), undefined)).toBe(
    'log.yaml: may not be empty',
  )
  expect(failureText(new SeedError('is other data'), undefined)).toBe('--seed: is other data')
})
