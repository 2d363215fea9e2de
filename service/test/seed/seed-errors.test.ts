import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { failureText } from '../../src/cli/failures.ts'
import { checkSeed } from '../../src/seed/check-seed.ts'
import { loadSeed } from '../../src/seed/load-seed.ts'
import { SeedError } from '../../src/seed/world.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agent-service-seed-'))
})
afterAll(() => rm(folder, { recursive: true }))

/** The message about a seed file, without its name. */
async function messageOf(text: string | Uint8Array, name = 'seed.yaml'): Promise<string> {
  const file = join(folder, name)
  await writeFile(file, text)
  const error: unknown = await loadSeed(file).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(SeedError)
  const { message } = error as SeedError
  expect(message.startsWith(`${file}: `)).toBe(true)
  return message.slice(file.length + 2)
}

const head = 'tenants:\n  - id: acme\n'
const client = '    name: Web\n    redirectUris: [http://127.0.0.1/callback]\n'
const agent = '    description: x\n    parent_agent_type: T\n'
const model = (id: number): string => `  - {id: ${id}, model_name: M, model_version: '1', provider: p}\n`

test.each([
  ['a cycle', 'tenants: &all\n  - id: acme\n    name: *all\n', 'tenants[0].name: must be text'],
  [
    'a misspelt member',
    `${head}    biling: inactive\n`,
    'tenants[0].biling: is unknown; use id, name, activity, billing',
  ],
  ['a tenant twice', `${head}  - id: acme\n`, 'tenants[1].id: the same id as tenants[0]'],
  [
    'an email address twice, in other letters',
    `${head}people:\n  - email: a@acme.example\n  - email: A@acme.example\n`,
    'people[1].email: the same email as people[0]',
  ],
  [
    'two agents with one key',
    `${head}agents:\n  - agent_name: My agent\n${agent}  - agent_name: my_agent\n${agent}`,
    'agents[1].agent_name: the same agent_name as agents[0]',
  ],
  [
    'a short password',
    `${head}people:\n  - email: a@x.example\n    password: short\n`,
    'people[0].password: must have 8',
  ],
  [
    'a secret of a public client',
    `${head}clients:\n  - clientSecret: ${'x'.repeat(32)}\n${client}`,
    'clients[0].kind: a public client has no secret',
  ],
  [
    'localhost',
    `${head}clients:\n  - name: Web\n    redirectUris: [http://localhost/cb]\n`,
    'clients[0].redirectUris[0]: "http://localhost/cb"',
  ],
  [
    'a redirect URI twice',
    `${head}clients:\n  - name: Web\n    redirectUris: [https://a.example/, https://b.example/, https://a.example/]\n`,
    'clients[0].redirectUris[2]: a redirect URI is repeated; list each one once',
  ],
  [
    'a hash without its key',
    `${head}people:\n  - email: a@x.example\n    passwordHash: hmac-sha256$${'a'.repeat(43)}\n`,
    'needs the hashKey',
  ],
  ['a number for a text', `${head}    name: 7\n`, 'tenants[0].name: must be text; write it in quotes'],
  [
    'an unknown tenant',
    `${head}people:\n  - email: a@x.example\n    tenant: acmee\n`,
    'people[0].tenant: there is no such tenant',
  ],
  [
    'an agent without a tenant, of which there are two',
    `${head}  - id: globex\nagents:\n  - agent_name: A\n${agent}`,
    'agents[0]: needs a tenant, because there are several',
  ],
  [
    'a secret id twice',
    `${head}clients:\n  - secrets: [&s {id: secret_a, hash: ${'a'.repeat(43)}, created_at: 2026-01-01T00:00:00.000Z}, *s]\n    kind: confidential\n${client}`,
    'clients[0].secrets[1].id: another secret has this id',
  ],
  [
    'two forms of a password',
    `${head}people:\n  - email: a@x.example\n    password: '12345678'\n    passwordHash: hmac-sha256$${'a'.repeat(43)}\n`,
    'people[0].passwordHash: give password or passwordHash, not both',
  ],
  [
    'an agent without a type',
    `${head}agents:\n  - agent_name: A\n    description: x\n`,
    'agents[0]: needs parent_agent_type or parent_agent_type_key',
  ],
  [
    'a type and the key of another one',
    `${head}agents:\n  - agent_name: A\n    parent_agent_type_key: other\n${agent}`,
    'agents[0].parent_agent_type_key: is not the key of parent_agent_type',
  ],
  [
    'a model of another tenant',
    `${head}  - id: globex\nmodels:\n${model(1).replace('{', '{tenant: globex, ')}agents:\n  - agent_name: A\n    tenant: acme\n    llm_model: 1\n${agent}`,
    'agents[0].llm_model: the tenant has no model with this id',
  ],
  [
    'an unknown permission',
    `${head}people:\n  - email: a@x.example\n    permissions: [api.acces]\n`,
    'people[0].permissions[0]: must be api.access, ',
  ],
  [
    'an unknown endpoint',
    `${head}endpointBilling: {searchAgents: needed}\n`,
    'endpointBilling.searchAgents: is unknown; use ',
  ],
  ['a missing member', `${head}people:\n  - name: Ada\n`, 'people[0].email: is missing'],
  ['no tenant', 'people: []\n', 'tenants: is missing'],
  ['another kind of value', `${head}    billing: paid\n`, 'tenants[0].billing: must be active or inactive'],
  ['two documents', `${head}---\n${head}`, 'not valid YAML at line 3, column 1 (MULTIPLE_DOCS)'],
  ['a member twice in YAML', `${head}    id: globex\n`, 'not valid YAML at line 3, column 5 (DUPLICATE_KEY)'],
  ['deep nesting', `${'['.repeat(20_000)}${']'.repeat(20_000)}`, 'not valid YAML'],
  ['a text without its closing quote', `${head}    name: "Acme\n`, 'not valid YAML at line 4, column 1 (MISSING_CHAR)'],
  ['a template without quotes', `${head}    name: {{ a.b }}\n`, 'write texts that hold { } [ ] or a colon in quotes'],
])('%s is one error with its path', async (_, text, expected) => {
  expect(await messageOf(text)).toContain(expected)
})

test.each([
  ['{"tenants": [{"id": "a"}], ,}', 'not valid JSON at line 1, column 28'],
  ['{"tenants": [team]}\n\n', expect.stringMatching(/^not valid JSON( at line 1, column 14)?$/)],
  ['["position 7", x]', expect.stringMatching(/^not valid JSON( at line 1, column 16)?$/)],
  ['["end of JSON", \nx]', expect.stringMatching(/^not valid JSON( at line 2, column 1)?$/)],
  ['{"tenants": [\n  {"id": "a"}', 'not valid JSON at line 2, column 14'],
  ['{"tenants": [{"id": 1}]}', 'tenants[0].id: must be text; write it in quotes'],
])('a mistake in a .json file is one of JSON: %j', async (text, expected) => {
  expect(await messageOf(text, 'seed.JSON')).toEqual(expected)
})

test.each(['', ' \n\t\n', '\ufeff'])('a file without any text is empty: %j', async (text) => {
  expect(await messageOf(text)).toBe('the file is empty')
  expect(await messageOf(text, 'seed.json')).toBe('the file is empty')
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
  expect(await messageOf(`x0: &x0 [a, b]\n${powers.join('')}`)).toContain('an alias in the YAML repeats too much')
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
  const none = join(folder, 'none.yaml')
  await expect(loadSeed(relative('.', none))).rejects.toThrow(
    new SeedError(`there is no file ${JSON.stringify(none)}`, relative('.', none)),
  )
  await expect(loadSeed(relative('.', folder))).rejects.toThrow(
    new SeedError(`${JSON.stringify(folder)} is a folder; give the path of a file`, relative('.', folder)),
  )
  expect(await messageOf(Uint8Array.of(0xff, 0xfe, 0x00))).toContain('not UTF-8')
  const large = `${head}    name: ${'x'.repeat(4_200_000)}`
  expect(await messageOf(large)).toContain('YAML is larger than 4 MiB; write the seed as a .json file')
  expect(await messageOf(large, 'large-text.json')).toMatch(/^not valid JSON/)
})

test('of clients and of agents beyond the limits of a tenant, the first is named', () => {
  const tenants = [{ id: 'acme' }]
  const clients = Array.from({ length: 1_001 }, (_, index) => {
    return { clientId: `c${index}`, name: 'Web', redirectUris: ['https://a.example/'] }
  })
  const agents = Array.from({ length: 10_001 }, (_, index) => {
    return { agent_name: `A ${index}`, description: 'x', parent_agent_type: 'T' }
  })
  expect(() => checkSeed({ tenants, clients })).toThrow('clients[1000]: a tenant has at most 1000 clients')
  expect(() => checkSeed({ tenants, agents })).toThrow('agents[10000]: a tenant has at most 10000 agents')
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
  expect(failureText(error, undefined)).toBe(`${relative('.', file)}: clients[0].redirectUris: must be a list`)
  expect(failureText(new SeedError('may not be empty', 'log.yaml'), undefined)).toBe('log.yaml: may not be empty')
  expect(failureText(new SeedError('is other data'), undefined)).toBe('--seed: is other data')
})
