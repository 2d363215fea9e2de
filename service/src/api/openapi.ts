import type { Hono } from 'hono'
import * as z from 'zod'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import { createParentAgentBody, parentAgentSearchBody } from './agents.ts'
import { type Endpoint, endpoints } from './endpoints.ts'
import { tooLargeText } from './envelope.ts'
import { llmModelSearchBody } from './models.ts'
import {
  agentConfigs,
  contextVariable,
  contextVariableGroup,
  contextVariablesFound,
  llmModel,
  llmModelsFound,
  parentAgent,
  parentAgentCreated,
  parentAgentsFound,
  refusal,
  validationError,
  validationItem,
} from './schemas.ts'

export type JsonSchema = z.core.JSONSchema.BaseSchema

const requests: Record<string, z.ZodType> = {
  ParentAgentSearch: parentAgentSearchBody,
  ParentAgentCreate: createParentAgentBody,
  LlmModelSearch: llmModelSearchBody,
}

const responses: Record<string, z.ZodType> = {
  ContextVariablesAnswer: contextVariablesFound,
  ParentAgentsFound: parentAgentsFound,
  ParentAgentCreated: parentAgentCreated,
  LlmModelsFound: llmModelsFound,
  ParentAgent: parentAgent,
  AgentConfigs: agentConfigs,
  LlmModel: llmModel,
  ContextVariableGroup: contextVariableGroup,
  ContextVariable: contextVariable,
  Refusal: refusal,
  ValidationError: validationError,
  ValidationItem: validationItem,
}

/** Returns the components of the document: the schemas of request bodies and of responses. */
function componentSchemas(): Record<string, JsonSchema> {
  return { ...generate(requests, 'input'), ...generate(responses, 'output') }
}

function referenceTo(schema: z.ZodType): JsonSchema {
  const named = Object.entries({ ...requests, ...responses }).find(([, known]) => known === schema)
  if (named === undefined) throw new Error('an endpoint uses a schema without a name; add it to requests or responses')
  return { $ref: uriOf(named[0]) }
}

function generate(schemas: Record<string, z.ZodType>, io: 'input' | 'output'): Record<string, JsonSchema> {
  const registry = z.registry<{ id: string }>()
  for (const [id, schema] of Object.entries(schemas)) registry.add(schema, { id })
  const generated = z.toJSONSchema(registry, { io, uri: uriOf, override: dropSafeBounds }).schemas
  return Object.fromEntries(
    Object.entries(generated).map(([id, { $schema: _schemaVersion, $id: _id, ...schema }]) => [id, schema]),
  )
}

/** Removes the range of a JavaScript integer, which zod adds to every integer. */
function dropSafeBounds({ jsonSchema }: { jsonSchema: JsonSchema }): void {
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
}

function uriOf(id: string): string {
  return `#/components/schemas/${id}`
}

export interface OpenApiDocument {
  openapi: '3.1.0'
  info: {
    title: string
    version: string
    description: string
    contact: { name: string; url: string }
    license: { name: string; identifier: string }
  }
  servers: { url: string }[]
  tags: { name: string; description: string }[]
  security: Record<string, string[]>[]
  paths: Record<string, Record<string, OpenApiOperation>>
  components: { schemas: Record<string, JsonSchema>; securitySchemes: Record<string, object> }
}

export interface OpenApiOperation {
  operationId: string
  summary: string
  description: string
  tags: string[]
  parameters?: { name: string; in: 'path'; required: true; schema: JsonSchema }[]
  requestBody?: { required: true; content: JsonContent }
  responses: Record<string, OpenApiResponse>
}

interface OpenApiResponse {
  description: string
  headers?: Record<string, { schema: JsonSchema }>
  content: JsonContent
}

type JsonContent = { 'application/json': { schema: JsonSchema; example?: object } }

/** Generates the OpenAPI document from the endpoints and the schemas that the service uses (specification 9). */
function openApiDocument({ authUrl, baseUrl }: { authUrl: string; baseUrl: string }): OpenApiDocument {
  const paths: OpenApiDocument['paths'] = {}
  for (const endpoint of endpoints) {
    const path = endpoint.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [endpoint.method.toLowerCase()]: operationOf(endpoint) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Agent Management Service',
      version: '1.0.0',
      description:
        'Configurable AI agents of a tenant. Every request reads and changes the data of its own tenant only.',
      contact: { name: 'Agent Management Service', url: authUrl },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: baseUrl }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    security: [{ bearer: [] }, { oauth2: ['api.access'] }],
    paths,
    components: { schemas: componentSchemas(), securitySchemes: securitySchemes(authUrl) },
  }
}

const tags: Record<Endpoint['operation']['tag'], string> = {
  'Parent agents': 'Agents of the tenant, with their configuration and context variables.',
  Models: 'LLM models that the agents of the tenant can use.',
}

function operationOf({ operation, permission, billing }: Endpoint): OpenApiOperation {
  const { id, tag, summary, pathParameters, body, success, conflict } = operation
  const billed = billing === 'needed' ? ' The tenant needs active billing.' : ''
  return {
    operationId: id,
    summary,
    description: `Needs the permissions api.access and ${permission}.${billed}`,
    tags: [tag],
    ...(pathParameters === undefined ? {} : { parameters: parametersOf(pathParameters) }),
    ...(body === undefined ? {} : { requestBody: { required: true, content: json(body.schema, body.example) } }),
    responses: {
      '200': { description: 'Success', content: json(success) },
      '401': { ...refused('invalid authentication credentials'), headers: challenge },
      '403': refused(
        'OAuth client is not approved for this API, missing permission, or the tenant has no active billing',
      ),
      ...(pathParameters === undefined ? {} : { '404': refused('No such parent agent in this tenant') }),
      ...(conflict === undefined ? {} : { '409': refused(conflict) }),
      ...(body === undefined ? {} : { '413': refused(tooLargeText) }),
      ...(body === undefined ? {} : { '415': refused('The body is not application/json') }),
      '422': { description: 'Validation error', content: json(validationError) },
      '429': { ...refused('Too many calls of the tenant at the same time'), headers: retryAfter },
      '500': refused('Unexpected error'),
      '503': { ...refused('The database is not available. Nothing has changed.'), headers: retryAfter },
    },
  }
}

const retryAfter: Record<string, { schema: JsonSchema }> = { 'Retry-After': { schema: { type: 'integer' } } }
const challenge: Record<string, { schema: JsonSchema }> = { 'WWW-Authenticate': { schema: { type: 'string' } } }

function refused(description: string): OpenApiResponse {
  return { description, content: json(refusal) }
}

function json(schema: z.ZodType, example?: object): JsonContent {
  return { 'application/json': { schema: referenceTo(schema), ...(example === undefined ? {} : { example }) } }
}

function parametersOf(path: z.ZodObject): NonNullable<OpenApiOperation['parameters']> {
  const { properties = {} } = z.toJSONSchema(path, { io: 'input' })
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'path',
    required: true,
    schema: schema as JsonSchema,
  }))
}

function securitySchemes(authUrl: string): Record<string, object> {
  const flow = {
    authorizationUrl: `${authUrl}/auth/v1/authorize`,
    tokenUrl: `${authUrl}/auth/v1/token?grant_type=authorization_code`,
    refreshUrl: `${authUrl}/auth/v1/token?grant_type=refresh_token`,
    scopes: { 'api.access': 'Use the API with the permissions of the user' },
  }
  return {
    bearer: { type: 'http', scheme: 'bearer', description: 'A user session token or an OAuth 2.0 access token' },
    oauth2: { type: 'oauth2', flows: { authorizationCode: flow } },
  }
}

/** Serves GET /openapi.json without authentication. The first request generates the document, so that the start stays quick. */
export function serveOpenApi(app: Hono<HttpEnvironment>, urls: { authUrl: string; baseUrl: string }): void {
  let generated: OpenApiDocument | undefined
  app.get('/openapi.json', (c) => {
    generated ??= openApiDocument(urls)
    return c.json(generated, 200, { 'Cache-Control': 'no-store' })
  })
}
