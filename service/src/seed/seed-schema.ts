import * as z from 'zod'
import { clientAdminPermission, endpointBilling, permissionNames } from '../access-change.ts'
import { descriptionText, nameText, storableText } from '../api/validation.ts'
import { unknownMember } from '../issue-text.ts'
import { credentialLimits, seedLimits } from '../limits.ts'

function object<Shape extends z.ZodRawShape>(shape: Shape): z.ZodObject<Shape, z.core.$strict> {
  return z.strictObject(shape, unknownMember(shape))
}

function pattern(expression: RegExp, message: string): z.ZodString {
  return z.string().regex(expression, message)
}

const activity = z.enum(['active', 'inactive'])
const tenant = pattern(/^[A-Za-z0-9][\w-]{0,62}$/, 'must have 1 to 63 letters, digits, hyphens or underscores')
const rowId = z.int().min(1)
const texts = z.record(z.string(), z.unknown())
const instant = z.iso.datetime({ precision: 3, error: 'must be a time such as 2026-01-01T00:00:00.000Z' })
const keyedHash = pattern(/^[\w-]{43}$/, 'must be a hash as an export writes it')

const seedTenant = object({
  id: tenant,
  name: nameText().optional(),
  activity: activity.optional(),
  billing: activity.optional(),
})

const passwordHash = pattern(
  /^(?:scrypt\$(?:16384|32768|65536|131072|262144)\$8\$1\$[\w-]{22}\$[\w-]{43}|hmac-sha256\$[\w-]{43})$/,
  'must be a hash as an export writes it',
)
const { leastPasswordCharacters, passwordCharacters } = credentialLimits

const seedPerson = object({
  id: pattern(/^person_[\w-]{1,64}$/, 'must be person_ and 1 to 64 letters, digits, hyphens or underscores').optional(),
  tenant: tenant.optional(),
  email: pattern(/^[^\s@\p{Cc}]{1,64}@[^\s@\p{Cc}]{1,189}$/u, 'must be an email address'),
  name: nameText().optional(),
  password: storableText()
    .refine(
      (text) => text.length >= leastPasswordCharacters && text.length <= passwordCharacters,
      `must have ${leastPasswordCharacters} to ${passwordCharacters} characters`,
    )
    .meta({ minLength: leastPasswordCharacters, maxLength: passwordCharacters })
    .optional(),
  passwordHash: passwordHash.optional(),
  permissions: z.array(z.enum([...permissionNames, clientAdminPermission])).optional(),
  activity: activity.optional(),
})

/** A client secret of a seed must be too long to guess. */
const { leastSecretCharacters, secretCharacters } = seedLimits
const secretText = `must have ${leastSecretCharacters} to ${secretCharacters} letters, digits, or . _ ~ -`

const seedClient = object({
  clientId: pattern(
    /^(?!person_)[A-Za-z0-9][\w.-]{0,63}$/,
    'must have 1 to 64 letters, digits, or . _ -, and not begin with person_',
  ).optional(),
  tenant: tenant.optional(),
  name: z.string(),
  kind: z.enum(['public', 'confidential']).optional(),
  redirectUris: z.array(z.string()),
  clientSecret: pattern(new RegExp(`^[\\w.~-]{${leastSecretCharacters},${secretCharacters}}$`), secretText).optional(),
  secrets: z
    .array(
      object({ id: pattern(/^secret_[\w-]{1,64}$/, 'must begin with secret_'), hash: keyedHash, created_at: instant }),
    )
    .min(1)
    .max(2)
    .optional(),
  activity: activity.optional(),
  approval: z.enum(['approved', 'unapproved']).optional(),
  surfaces: z
    .array(z.string().regex(/^[\w.-]{1,64}$/, 'must have 1 to 64 letters, digits, or . _ -'))
    .max(20)
    .optional(),
})

const seedModel = object({
  id: rowId.optional(),
  tenant: tenant.optional(),
  model_name: nameText(),
  model_version: nameText(),
  provider: nameText(),
})

const configs = object({
  last_agent_in_group: storableText().optional(),
  max_rounds: pattern(/^\d{1,9}$/, 'must be a number as text').optional(),
  temperature: z.number().optional(),
  max_messages: pattern(/^\d{1,9}$/, 'must be a number as text').optional(),
  continue_with_last_agent: z.boolean().optional(),
  memory_expiration: object({
    thread_ttl_hours: z.int().optional(),
    agent_ttl_days: z.int().optional(),
    tenant_ttl_days: z.int().optional(),
    clear_thread_on_conversation_end: z.boolean().optional(),
  }).optional(),
})

const contextGroup = object({
  key: storableText(),
  tool_key: storableText(),
  tool_name: storableText(),
  display_name: storableText(),
  tool_id: storableText(),
  source_type: storableText(),
  variables: z
    .array(
      object({
        path: storableText().optional(),
        type: storableText().optional(),
        description: storableText().optional(),
        full_var: storableText(),
        insert_value: storableText(),
      }),
    )
    .optional(),
  output_schema: texts.nullable().optional(),
})

const seedAgent = object({
  id: rowId.optional(),
  tenant: tenant.optional(),
  agent_name: nameText(),
  description: descriptionText(),
  parent_agent_type: nameText().optional(),
  parent_agent_type_key: nameText().optional(),
  display_name: nameText().optional(),
  full_display_name: storableText().optional(),
  active: z.boolean().optional(),
  configs: configs.optional(),
  llm_model: rowId.optional(),
  llm_model_name: nameText().optional(),
  state_function: z.array(texts).optional(),
  created_at: instant.optional(),
  context_variables: z.array(contextGroup).optional(),
}).meta({ anyOf: [{ required: ['parent_agent_type'] }, { required: ['parent_agent_type_key'] }] })

const seedSchema = object({
  $schema: z.string().optional(),
  hashKey: keyedHash.optional(),
  endpointBilling: z.optional(endpointBilling),
  tenants: z.array(seedTenant).min(1),
  people: z.array(seedPerson).optional(),
  clients: z.array(seedClient).optional(),
  models: z.array(seedModel).optional(),
  agents: z.array(seedAgent).optional(),
})

/** Returns a seed with the members in the order of the schema. Throws a ZodError. */
export function parseSeed(value: unknown) {
  return seedSchema.parse(value, { reportInput: true })
}

/** Returns the JSON Schema of a seed file, which is `seed.schema.json` of the package. */
export function seedJsonSchema(): object {
  return { title: 'Seed of agent-service', ...z.toJSONSchema(seedSchema, { io: 'input' }) }
}

/** The data that a service starts with. `tenant` may be left out where the seed has one tenant. */
export type Seed = ReturnType<typeof parseSeed>
/** A tenant of a seed. Users of an inactive one cannot sign in. */
export type SeedTenant = Seed['tenants'][number]
/** A user of a seed, with a password or the hash of one. Without both, a password is generated and printed. */
export type SeedPerson = NonNullable<Seed['people']>[number]
/** A client of a seed. A confidential one has a secret or hashes of secrets. Without both, a secret is generated and printed. */
export type SeedClient = NonNullable<Seed['clients']>[number]
/** A model of a seed, with the names of the specification (2.4). */
export type SeedModel = NonNullable<Seed['models']>[number]
/** An agent of a seed, with the names of the specification (2.2). Members that are absent have the defaults of a new agent. */
export type SeedAgent = NonNullable<Seed['agents']>[number]
/** Configuration of an agent (2.3). */
export type SeedConfigs = NonNullable<SeedAgent['configs']>
/** A context variable group (2.5). */
export type SeedContextGroup = NonNullable<SeedAgent['context_variables']>[number]
/** A context variable (2.6). */
export type SeedContextVariable = NonNullable<SeedContextGroup['variables']>[number]
