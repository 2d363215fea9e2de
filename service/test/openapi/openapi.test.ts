import { randomUUID } from 'node:crypto'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { OpenApiDocument, OpenApiOperation } from '../../src/api/openapi.ts'
import type { Assembly } from '../../src/server/create-service.ts'
import { agentSearch, callApi } from '../support/login.ts'
import { createSchemaCheck } from '../support/schema-check.ts'
import { assemble } from '../support/start.ts'

let assembly: Assembly
let document: OpenApiDocument
let token: string
let noPermission: string
let isCreateBody: ValidateFunction
beforeAll(async () => {
  assembly = await assemble({})
  const { service } = assembly
  document = (await (await service.fetch(`${service.baseUrl}/openapi.json`)).json()) as OpenApiDocument
  token = await service.dev.mintSessionToken('ada@demo.example')
  noPermission = await service.dev.mintSessionToken('gil@demo.example')
  isCreateBody = new Ajv2020({ strict: false })
    .addSchema({ $id: 'document', components: document.components })
    .compile({ $ref: 'document#/components/schemas/ParentAgentCreate' })
})
afterAll(() => assembly.service.close())

const contextVariables = '/api/parent_agents/{parent_agent_id}/state_function/context_variables'
const create = '/api/parent_agents'
const modelSearch = '/api/llm_models/search'
const newAgent = { agent_name: 'Contract', description: 'd', parent_agent_type: 'T' }

/** Endpoint, path parameter, good body, bad body. */
const endpoints = [
  { path: contextVariables, id: '1', badId: 'x', body: undefined, bad: undefined },
  { path: agentSearch, body: { limit: 3 }, bad: { limit: 0, sort: { column: 'x' } } },
  { path: create, body: newAgent, bad: { agent_name: '' } },
  { path: modelSearch, body: {}, bad: { offset: -1, search_value: 5 } },
]

function operationOf(path: string): OpenApiOperation {
  const operation = document.paths[path]?.get ?? document.paths[path]?.post
  if (operation === undefined) throw new Error(`${path} is not documented`)
  return operation
}

test('every answer of every endpoint holds documented members only, and every documented member comes', async () => {
  const check = createSchemaCheck(document)
  const call = async (path: string, status: number, request: { token?: string; body?: unknown; id?: string }) => {
    const { id = '1', ...rest } = request
    const answer = await callApi(assembly.service, { ...rest, path: path.replace('{parent_agent_id}', id) })
    expect({ path, status: answer.status }).toEqual({ path, status })
    const schema = operationOf(path).responses[status]?.content['application/json'].schema
    expect(check.problems(schema ?? { type: 'null' }, await answer.json())).toEqual([])
  }
  for (const { path, body, bad, id = '1', badId = '1' } of endpoints) {
    await call(path, 200, { token, body, id })
    await call(path, 401, { body, id })
    await call(path, 403, { token: noPermission, body, id })
    await call(path, 422, { token, body: bad, id: badId })
  }
  await call(contextVariables, 404, { token, id: '999999' })
  const limited = endpoints.filter(({ path }) => operationOf(path).responses['409']?.description.includes('maximum'))
  expect(limited.map(({ path }) => path)).toEqual([create])
  expect(check.unseen()).toEqual([])
})

const typeFields = [undefined, null, '', 'T', 't', 5]
const otherChanges = [
  ...['agent_name', 'description'].flatMap((name) => [null, '', 5, [], ' '].map((value) => ({ [name]: value }))),
  ...[null, true, 'yes', 0].map((active) => ({ active })),
  { agent_name: 'x'.repeat(501) },
  { unknown: 1 },
]

test.each([
  ...typeFields.flatMap((type) => typeFields.map((key) => ({ parent_agent_type: type, parent_agent_type_key: key }))),
  ...otherChanges,
])('the schema of a create body allows what the service takes and nothing else: %j', async (change) => {
  const { service } = assembly
  // What is undefined does not arrive.
  const body = JSON.parse(JSON.stringify({ ...newAgent, agent_name: randomUUID(), ...change }))
  const isAllowed = isCreateBody(body)
  const answer = await callApi(service, { token, path: create, body })
  const { detail = [] } = (await answer.json()) as { detail?: { type: string }[] }
  // That two types agree is no matter of form.
  const isTaken = answer.status === 200 || detail.every(({ type }) => type === 'value_error')
  expect({ isAllowed, detail }).toEqual({ isAllowed: isTaken, detail })
})

test('a create body needs one of the two type fields, and the document says so', async () => {
  const { anyOf, description } = document.components.schemas.ParentAgentCreate ?? {}
  expect(anyOf).toEqual([
    { required: ['parent_agent_type'], properties: { parent_agent_type: { type: 'string' } } },
    { required: ['parent_agent_type_key'], properties: { parent_agent_type_key: { type: 'string' } } },
  ])
  expect(description).toContain('Give parent_agent_type, parent_agent_type_key or both.')
})

test('the service accepts the example of each request body', async () => {
  const examples = Object.keys(document.paths).flatMap((path) => {
    const example = operationOf(path).requestBody?.content['application/json'].example
    return example === undefined ? [] : [{ path, body: example }]
  })
  expect(examples.map(({ path }) => path)).toEqual([agentSearch, create, modelSearch])
  for (const { path, body } of examples) {
    expect({ path, status: (await callApi(assembly.service, { token, path, body })).status }).toEqual({
      path,
      status: 200,
    })
  }
})

test.each([
  [
    'ParentAgent',
    'id parent_agent_type parent_agent_type_key agent_key agent_name full_display_name tenant display_name description configs llm_model llm_model_name active state_function created_at',
  ],
  [
    'AgentConfigs',
    'last_agent_in_group max_rounds temperature max_messages continue_with_last_agent memory_expiration',
  ],
  ['LlmModel', 'id model_name model_version provider'],
  ['ContextVariableGroup', 'key tool_key tool_name display_name tool_id source_type variables output_schema'],
  ['ContextVariable', 'path type description full_var insert_value'],
  ['ValidationItem', 'loc msg type input ctx'],
  ['Refusal', 'success data error_type error_message'],
  ['ParentAgentSearch', 'limit offset search_value filters sort active'],
  ['ParentAgentCreate', 'agent_name description parent_agent_type parent_agent_type_key active'],
  ['LlmModelSearch', 'limit offset search_value filters sort provider'],
])('%s has the members of the specification and no others', (name, members) => {
  expect(Object.keys(document.components.schemas[name]?.properties ?? {})).toEqual(members.split(' '))
})

test('required members and types are those of the specification', () => {
  const { schemas } = document.components
  const required = ['key', 'tool_key', 'tool_name', 'display_name', 'tool_id', 'source_type']
  expect(schemas.ContextVariableGroup?.required).toEqual(required)
  expect(schemas.ContextVariable?.required).toEqual(['full_var', 'insert_value'])
  expect(schemas.ValidationItem?.required).toEqual(['loc', 'msg', 'type'])
  expect(schemas.Refusal?.required).toEqual(['success', 'data'])
  expect(schemas.AgentConfigs?.properties).toMatchObject({
    max_rounds: { type: 'string' },
    max_messages: { type: 'string' },
  })
  expect(schemas.ParentAgentSearch?.properties?.limit).toMatchObject({ type: 'integer', minimum: 1, maximum: 250 })
  expect(schemas.ParentAgentsFound?.properties?.data).toMatchObject({ required: ['items', 'count'] })
  expect(schemas.ParentAgentCreated?.properties?.data).toMatchObject({ required: ['items'] })
})

test('the document is OpenAPI 3.1.0, version 1.0.0, has one operation per endpoint and no dangling reference', () => {
  expect({ openapi: document.openapi, version: document.info.version }).toEqual({ openapi: '3.1.0', version: '1.0.0' })
  expect(document.servers).toEqual([{ url: assembly.service.baseUrl }])
  expect(Object.keys(document.paths).sort()).toEqual(endpoints.map(({ path }) => path).sort())
  const text = JSON.stringify(document)
  const names = [...text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name)
  expect(names.length).toBeGreaterThan(20)
  expect(names.filter((name) => !Object.hasOwn(document.components.schemas, name ?? ''))).toEqual([])
  expect(text).not.toMatch(/\$schema|\$id|9007199254740991|__shared/)
  const ids = Object.keys(document.paths).map((path) => operationOf(path).operationId)
  expect(new Set(ids).size).toBe(4)
})

test.each([
  ['ParentAgentSearch', agentSearch, 'active agent_key agent_name id llm_model parent_agent_type_key tenant'],
  ['LlmModelSearch', modelSearch, 'id model_name model_version provider'],
])('%s documents the columns of the specification, and each of them sorts', async (name, path, names) => {
  const columns = names.split(' ')
  const { sort, filters } = document.components.schemas[name]?.properties ?? {}
  expect(JSON.stringify(sort)).toContain(JSON.stringify({ type: 'string', enum: columns }))
  const filtered = [...JSON.stringify(filters).matchAll(/"column":\{"type":"string","const":"(\w+)"/g)]
  expect([...new Set(filtered.map(([, column]) => column))]).toEqual(columns)
  const status = async (body: unknown) => (await callApi(assembly.service, { token, path, body })).status
  for (const one of columns) expect(await status({ sort: { column: one, desc: true } })).toBe(200)
  expect(await status({ sort: { column: 'created_at' } })).toBe(422)
})

test('the document has a contact, a license, and a description of each tag', () => {
  const { info, tags } = document
  expect(info.contact.url).toBe(assembly.service.authUrl)
  expect(info.license).toEqual({ name: 'MIT', identifier: 'MIT' })
  const used = new Set(endpoints.flatMap(({ path }) => operationOf(path).tags))
  expect(new Set(tags.map(({ name }) => name))).toEqual(used)
  for (const { description } of tags) expect(description).toMatch(/\.$/)
})
