import * as z from 'zod'
import { endpointIds } from '../access-change.ts'
import { descriptionText, nameText, storableText } from '../api/text.ts'
import { credentialLimits } from '../limits.ts'
import { unknownNameText } from '../near-name.ts'
import { clientAdminPermission, permissionNames } from '../permission-names.ts'
import type { Seed, SeedAgent, SeedClient, SeedModel, SeedPerson, SeedTenant } from '../seed-types.ts'
import { seedLimits } from './seed-limits.ts'

/** Refuses members that it does not name, with the one that was probably meant. The seed is then refused as a whole. */
function object<Shape extends z.ZodRawShape>(shape: Shape): z.ZodObject<Shape, z.core.$strict> {
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys' ? unknownNameText(issue.keys[0] ?? '', Object.keys(shape)) : undefined,
  })
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

const seedTenant: z.ZodType<SeedTenant> = object({
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

const seedPerson: z.ZodType<SeedPerson> = object({
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

/** A client secret of a seed: `leastSecretCharacters`, 32 to `secretCharacters`, 256, as it must be too long to guess. */
const { leastSecretCharacters, secretCharacters } = seedLimits
const secretText = `must have ${leastSecretCharacters} to ${secretCharacters} letters, digits, or . _ ~ -`

const seedClient: z.ZodType<SeedClient> = object({
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

const seedModel: z.ZodType<SeedModel> = object({
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

const seedAgent: z.ZodType<SeedAgent> = object({
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

const billingOfEndpoint = z.enum(['needed', 'not-needed']).optional()

/** The schema of a seed file. `seed.schema.json` of the package is made from it. */
export const seedSchema: z.ZodType<Seed> = object({
  $schema: z.string().optional(),
  hashKey: keyedHash.optional(),
  endpointBilling: object(
    Object.fromEntries(endpointIds.map((id) => [id, billingOfEndpoint])) as Record<
      (typeof endpointIds)[number],
      typeof billingOfEndpoint
    >,
  ).optional(),
  tenants: z.array(seedTenant).min(1),
  people: z.array(seedPerson).optional(),
  clients: z.array(seedClient).optional(),
  models: z.array(seedModel).optional(),
  agents: z.array(seedAgent).optional(),
})
