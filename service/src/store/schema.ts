import type { Generated } from 'kysely'

export type Flag = 0 | 1

/** A change of the client registry, which is stored with the data as well. */
export type RegistryEvent =
  | 'client_created'
  | 'client_activated'
  | 'client_deactivated'
  | 'client_secret_created'
  | 'client_secret_retired'

/** The columns that both engines have. Times are epoch milliseconds, and lists and objects are JSON text. */
export interface Tables {
  service_keys: { name: string; value: string }
  tenants: { id: string; name: string; active: Flag; billing_active: Flag }
  people: {
    id: string
    tenant_id: string
    email: string
    name: string
    password_hash: string
    permissions: string
    active: Flag
    position: number
  }
  clients: {
    id: string
    tenant_id: string
    name: string
    kind: 'public' | 'confidential'
    active: Flag
    position: number
  }
  client_secrets: {
    id: string
    client_id: string
    secret_hash: string
    created_ms: number
    retired_ms: number | null
  }
  client_redirect_uris: { client_id: string; redirect_uri: string; position: number; page_origin: string }
  client_approvals: { client_id: string; tenant_id: string; active: Flag; surfaces: string }
  registry_events: {
    id: Generated<number>
    at_ms: number
    event: RegistryEvent
    /** The id of a user, or `command line`. */
    actor: string
    client_id: string
    tenant_id: string
  }
  sign_in_sessions: { id_hash: string; person_id: string; created_ms: number; seen_ms: number }
  authorization_requests: AuthorizationRequestTable
  authorization_codes: AuthorizationCodeTable
  grants: GrantTable
  refresh_tokens: RefreshTokenTable
  access_tokens: { hash: string; grant_id: string; expires_ms: number }
  session_tokens: { hash: string; person_id: string; expires_ms: number }
  parent_agents: ParentAgentTable
  llm_models: LlmModelTable
  context_groups: ContextGroupTable
}

interface AuthorizationRequestTable {
  id_hash: string
  browser_hash: string
  client_id: string
  redirect_uri: string
  scope: string
  /** Percent-encoded, so that every byte comes back as it was sent. */
  state: string | null
  code_challenge: string | null
  /** The error to send back once the user is signed in. */
  refusal: string | null
  session_hash: string | null
  consent_hash: string | null
  expires_ms: number
  decided_ms: number | null
  /**
   * 1 if the request came with the form of a sign-in page. Its row is added at the sign-in and stays after the decision, because a
   * browser may submit the same form again.
   */
  carried: Flag
}

interface AuthorizationCodeTable {
  hash: string
  client_id: string
  redirect_uri: string
  code_challenge: string | null
  person_id: string
  tenant_id: string
  scope: string
  expires_ms: number
  attempts: number
  used_ms: number | null
  grant_id: string | null
  /** Until every token of its authorization has expired, or until the code itself has expired if it was not used. */
  keep_until_ms: number
}

interface GrantTable {
  id: string
  client_id: string
  person_id: string
  tenant_id: string
  scope: string
  created_ms: number
  expires_ms: number
  touched_ms: number
  revoked_ms: number | null
}

interface RefreshTokenTable {
  hash: string
  grant_id: string
  idle_expires_ms: number
  used_ms: number | null
  revoked_ms: number | null
  successor_hash: string | null
  successor_sealed: string | null
}

export interface ParentAgentTable {
  id: Generated<number>
  tenant_id: string
  parent_agent_type: string
  parent_agent_type_key: string
  agent_key: string
  /** In NFC, because searches compare and sort by it. */
  agent_name: string
  /** The name that responses have. */
  name_as_sent: string
  full_display_name: string
  display_name: string
  description: string
  configs: string
  llm_model: number
  active: Flag
  state_function: string
  created_ms: number
  search_text: string
}

export interface LlmModelTable {
  id: Generated<number>
  tenant_id: string
  model_name: string
  model_version: string
  provider: string
  search_text: string
}

export interface ContextGroupTable {
  id: Generated<number>
  tenant_id: string
  agent_id: number
  position: number
  key: string
  tool_key: string
  tool_name: string
  display_name: string
  tool_id: string
  source_type: string
  variables: string
  output_schema: string | null
}
