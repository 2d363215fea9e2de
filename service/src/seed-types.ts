import type { EndpointId } from './access-change.ts'
import type { clientAdminPermission, Permission } from './permission-names.ts'

/** The data that a service starts with. `tenant` may be left out where the seed has one tenant. */
export interface Seed {
  /** The JSON Schema of the file, for editors. */
  $schema?: string | undefined
  /** The key of the hashes in this seed, which an export writes. It is as secret as the data file. */
  hashKey?: string | undefined
  /** Endpoints of the API that need active billing. Default: `createParentAgent` alone. */
  endpointBilling?: { [Id in EndpointId]?: 'needed' | 'not-needed' | undefined } | undefined
  /** The tenants. There is at least one. */
  tenants: SeedTenant[]
  /** The users. Default: none. */
  people?: SeedPerson[] | undefined
  /** The API clients. Default: none. */
  clients?: SeedClient[] | undefined
  /** The LLM models. A tenant without any has the demo models. */
  models?: SeedModel[] | undefined
  /** The parent agents. Default: none. */
  agents?: SeedAgent[] | undefined
}

/** A tenant of a seed. */
export interface SeedTenant {
  /** The id that users, clients, models and agents name. */
  id: string
  /** Default: the id. */
  name?: string | undefined
  /** Users of an inactive tenant cannot sign in. Default: `active`. */
  activity?: Activity | undefined
  /** Default: `active`. */
  billing?: Activity | undefined
}

/** A user of a seed, with a password or the hash of one. Without both, a password is generated and printed. */
export interface SeedPerson {
  /** Begins with `person_`. Default: derived from the tenant and the email address. */
  id?: string | undefined
  /** The id of its tenant. It may be left out where the seed has one tenant. */
  tenant?: string | undefined
  /** The email address of the sign-in. */
  email: string
  /** Default: the email address. */
  name?: string | undefined
  /** The password as text. */
  password?: string | undefined
  /** The hash that an export writes, instead of the password. */
  passwordHash?: string | undefined
  /** Default: all permissions of the API. */
  permissions?: (Permission | typeof clientAdminPermission)[] | undefined
  /** Default: `active`. */
  activity?: Activity | undefined
}

/** A client of a seed. A confidential one has a secret or the hashes of one or two. Without both, a secret is generated and printed. */
export interface SeedClient {
  /** The `client_id`. Default: derived from the tenant and the name. */
  clientId?: string | undefined
  /** The id of its tenant. It may be left out where the seed has one tenant. */
  tenant?: string | undefined
  /** The name on the consent page. */
  name: string
  /** Default: `public`. */
  kind?: 'public' | 'confidential' | undefined
  /** The redirect URIs, as an authorize request sends them. */
  redirectUris: string[]
  /** The secret of a confidential client as text, 32 to 256 characters. */
  clientSecret?: string | undefined
  /** The hashes that an export writes, instead of the secret. */
  secrets?: { id: string; hash: string; created_at: string }[] | undefined
  /** Default: `active`. */
  activity?: Activity | undefined
  /** Whether its tenant has approved it. Default: `approved`. */
  approval?: 'approved' | 'unapproved' | undefined
  /** Default: `["api"]`. */
  surfaces?: string[] | undefined
}

/** A model of a seed, with the names of the specification (2.4). */
export interface SeedModel {
  /** Default: the lowest number that is free, in the order of the file. */
  id?: number | undefined
  /** The id of its tenant. It may be left out where the seed has one tenant. */
  tenant?: string | undefined
  /** The name of the model, such as `gpt-4o`. */
  model_name: string
  /** The version of the model. */
  model_version: string
  /** The provider of the model. */
  provider: string
}

/** An agent of a seed, with the names of the specification (2.2). */
export interface SeedAgent {
  /** Default: the lowest number that is free, in the order of the file. */
  id?: number | undefined
  /** The id of its tenant. It may be left out where the seed has one tenant. */
  tenant?: string | undefined
  /** The name. */
  agent_name: string
  /** What the agent is for. */
  description: string
  /** One of the two type members is needed. */
  parent_agent_type?: string | undefined
  /** The key of the type. */
  parent_agent_type_key?: string | undefined
  /** Default: the name. */
  display_name?: string | undefined
  /** Default: the name and the type. */
  full_display_name?: string | undefined
  /** Default: true. */
  active?: boolean | undefined
  /** Members that are absent have the defaults of a new agent. */
  configs?: SeedConfigs | undefined
  /** The id of a model of the tenant. Default: the first one. */
  llm_model?: number | undefined
  /** The name of a model of the tenant, instead of its id. */
  llm_model_name?: string | undefined
  /** The entries of the state function. Default: none. */
  state_function?: Record<string, unknown>[] | undefined
  /** ISO 8601 in UTC. Default: 2026-01-01T00:00:00.000Z, so that two starts are alike. */
  created_at?: string | undefined
  /** Default: the source of a new agent. */
  context_variables?: SeedContextGroup[] | undefined
}

/** Configuration of an agent (2.3). Members that are absent have the defaults of a new agent. */
export interface SeedConfigs {
  /** The agent that acts last in a group. */
  last_agent_in_group?: string | undefined
  /** A number as text. */
  max_rounds?: string | undefined
  /** The sampling temperature of the model. */
  temperature?: number | undefined
  /** A number as text. */
  max_messages?: string | undefined
  /** Whether a conversation continues with the agent that acted last. */
  continue_with_last_agent?: boolean | undefined
  /** How long memory is kept. */
  memory_expiration?:
    | {
        thread_ttl_hours?: number | undefined
        agent_ttl_days?: number | undefined
        tenant_ttl_days?: number | undefined
        clear_thread_on_conversation_end?: boolean | undefined
      }
    | undefined
}

/** A context variable group (2.5). */
export interface SeedContextGroup {
  /** The name of the group. */
  key: string
  /** The key that references to an output of the tool use. */
  tool_key: string
  /** The name of the tool. */
  tool_name: string
  /** The name for display. */
  display_name: string
  /** The id of the tool or source. */
  tool_id: string
  /** The type of the source, such as `tool` or `trigger`. */
  source_type: string
  /** The variables. Default: none. */
  variables?: SeedContextVariable[] | undefined
  /** The JSON Schema of the output of the source. */
  output_schema?: Record<string, unknown> | null | undefined
}

/** A context variable (2.6). */
export interface SeedContextVariable {
  /** The path in the output. Default: empty. */
  path?: string | undefined
  /** The type of the value. Default: `any`. */
  type?: string | undefined
  /** What the variable is. Default: empty. */
  description?: string | undefined
  /** The Jinja expression of the variable. */
  full_var: string
  /** The path as it is written into an expression of a state function. */
  insert_value: string
}

export type Activity = 'active' | 'inactive'
