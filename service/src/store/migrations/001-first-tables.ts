import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { StoreEngine } from '../database.ts'

/**
 * Creates all tables. Once a version with it is released, this file never changes: data that ran it never run it again. A change of the
 * tables is then a migration of its own.
 */
export async function createFirstTables(db: Kysely<unknown>, engine: StoreEngine): Promise<void> {
  for (const statement of [...authTables(engine), ...apiTables(engine), ...indexes]) await statement.execute(db)
}

function authTables({ text, autoId }: StoreEngine): RawBuilder<unknown>[] {
  return [
    sql`create table service_keys (name text primary key, value text not null)`,
    sql`create table tenants (
      id ${text} primary key,
      name text not null,
      active integer not null,
      billing_active integer not null
    )`,
    sql`create table people (
      id text primary key,
      tenant_id text not null references tenants (id),
      email text not null unique,
      name text not null,
      password_hash text not null,
      permissions text not null,
      active integer not null,
      position integer not null
    )`,
    sql`create table clients (
      id text primary key,
      tenant_id text not null references tenants (id),
      name text not null,
      kind text not null,
      active integer not null,
      position integer not null
    )`,
    sql`create table client_secrets (
      id text primary key,
      client_id text not null references clients (id),
      secret_hash text not null,
      created_ms bigint not null,
      retired_ms bigint
    )`,
    sql`create table client_redirect_uris (
      client_id text not null references clients (id),
      redirect_uri text not null,
      position integer not null,
      page_origin text not null,
      primary key (client_id, redirect_uri)
    )`,
    sql`create table client_approvals (
      client_id text not null references clients (id),
      tenant_id text not null references tenants (id),
      active integer not null,
      surfaces text not null,
      primary key (client_id, tenant_id)
    )`,
    sql`create table registry_events (
      id ${autoId},
      at_ms bigint not null,
      event text not null,
      actor text not null,
      client_id text not null,
      tenant_id text not null references tenants (id)
    )`,
    sql`create table sign_in_sessions (
      id_hash text primary key,
      person_id text not null references people (id),
      created_ms bigint not null,
      seen_ms bigint not null
    )`,
    sql`create table authorization_requests (
      id_hash text primary key,
      browser_hash text not null,
      client_id text not null references clients (id),
      redirect_uri text not null,
      scope text not null,
      state text,
      code_challenge text,
      refusal text,
      session_hash text,
      consent_hash text,
      expires_ms bigint not null,
      decided_ms bigint,
      carried integer not null
    )`,
    sql`create table authorization_codes (
      hash text primary key,
      client_id text not null references clients (id),
      redirect_uri text not null,
      code_challenge text,
      person_id text not null references people (id),
      tenant_id text not null,
      scope text not null,
      expires_ms bigint not null,
      attempts integer not null,
      used_ms bigint,
      grant_id text,
      keep_until_ms bigint not null
    )`,
    sql`create table grants (
      id text primary key,
      client_id text not null references clients (id),
      person_id text not null references people (id),
      tenant_id text not null,
      scope text not null,
      created_ms bigint not null,
      expires_ms bigint not null,
      touched_ms bigint not null,
      revoked_ms bigint
    )`,
    sql`create table refresh_tokens (
      hash text primary key,
      grant_id text not null references grants (id),
      idle_expires_ms bigint not null,
      used_ms bigint,
      revoked_ms bigint,
      successor_hash text,
      successor_sealed text
    )`,
    sql`create table access_tokens (
      hash text primary key,
      grant_id text not null references grants (id),
      expires_ms bigint not null
    )`,
    sql`create table session_tokens (
      hash text primary key,
      person_id text not null references people (id),
      expires_ms bigint not null
    )`,
  ]
}

function apiTables({ text, rowId, autoId }: StoreEngine): RawBuilder<unknown>[] {
  return [
    sql`create table llm_models (
      id ${autoId},
      tenant_id ${text} not null references tenants (id),
      model_name ${text} not null,
      model_version ${text} not null,
      provider ${text} not null,
      search_text ${text} not null
    )`,
    sql`create table parent_agents (
      id ${autoId},
      tenant_id ${text} not null references tenants (id),
      parent_agent_type ${text} not null,
      parent_agent_type_key ${text} not null,
      agent_key ${text} not null,
      agent_name ${text} not null,
      name_as_sent text not null,
      full_display_name text not null,
      display_name text not null,
      description text not null,
      configs text not null,
      llm_model ${rowId} not null references llm_models (id),
      active integer not null,
      state_function text not null,
      created_ms bigint not null,
      search_text ${text} not null,
      unique (tenant_id, agent_key)
    )`,
    sql`create table context_groups (
      id ${autoId},
      tenant_id ${text} not null references tenants (id),
      agent_id ${rowId} not null references parent_agents (id),
      position integer not null,
      key text not null,
      tool_key text not null,
      tool_name text not null,
      display_name text not null,
      tool_id text not null,
      source_type text not null,
      variables text not null,
      output_schema text
    )`,
  ]
}

const indexes: RawBuilder<unknown>[] = [
  sql`create index refresh_tokens_by_grant on refresh_tokens (grant_id)`,
  sql`create index access_tokens_by_grant on access_tokens (grant_id)`,
  sql`create index access_tokens_by_expiry on access_tokens (expires_ms)`,
  sql`create index codes_by_retention on authorization_codes (keep_until_ms)`,
  sql`create index grants_by_expiry on grants (expires_ms)`,
  sql`create index requests_by_expiry on authorization_requests (expires_ms)`,
  sql`create index requests_by_session on authorization_requests (session_hash)`,
  sql`create index redirect_uris_by_origin on client_redirect_uris (page_origin)`,
  sql`create index registry_events_by_tenant on registry_events (tenant_id, id)`,
  sql`create index llm_models_by_tenant on llm_models (tenant_id, id)`,
  sql`create index parent_agents_by_tenant on parent_agents (tenant_id, id)`,
  sql`create index context_groups_by_agent on context_groups (tenant_id, agent_id)`,
]
