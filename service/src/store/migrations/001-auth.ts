import type { Kysely } from 'kysely'
import type { StoreEngine } from '../engine/engine.ts'

export async function createAuthTables(db: Kysely<unknown>, { text }: StoreEngine): Promise<void> {
  await createTenantTables(db, text)
  await createClientTables(db)
  await createSignInTables(db)
  await createTokenTables(db)
}

async function createTenantTables(db: Kysely<unknown>, text: StoreEngine['text']): Promise<void> {
  await db.schema
    .createTable('service_keys')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('value', 'text', (column) => column.notNull())
    .execute()
  await db.schema
    .createTable('tenants')
    // In the order of code points, in which an export lists tenants.
    .addColumn('id', text, (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('active', 'integer', (column) => column.notNull())
    .addColumn('billing_active', 'integer', (column) => column.notNull())
    .execute()
  await db.schema
    .createTable('people')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('tenant_id', 'text', (column) => column.notNull().references('tenants.id'))
    .addColumn('email', 'text', (column) => column.notNull().unique())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('password_hash', 'text', (column) => column.notNull())
    .addColumn('permissions', 'text', (column) => column.notNull())
    .addColumn('active', 'integer', (column) => column.notNull())
    .addColumn('position', 'integer', (column) => column.notNull())
    .execute()
}

async function createClientTables(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('clients')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('tenant_id', 'text', (column) => column.notNull().references('tenants.id'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('active', 'integer', (column) => column.notNull())
    .addColumn('position', 'integer', (column) => column.notNull())
    .execute()
  await db.schema
    .createTable('client_secrets')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('client_id', 'text', (column) => column.notNull().references('clients.id'))
    .addColumn('secret_hash', 'text', (column) => column.notNull())
    .addColumn('retired_ms', 'bigint')
    .execute()
  await db.schema
    .createTable('client_redirect_uris')
    .addColumn('client_id', 'text', (column) => column.notNull().references('clients.id'))
    .addColumn('redirect_uri', 'text', (column) => column.notNull())
    .addColumn('position', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('client_redirect_uris_key', ['client_id', 'redirect_uri'])
    .execute()
  await db.schema
    .createTable('client_approvals')
    .addColumn('client_id', 'text', (column) => column.notNull().references('clients.id'))
    .addColumn('tenant_id', 'text', (column) => column.notNull().references('tenants.id'))
    .addColumn('active', 'integer', (column) => column.notNull())
    .addColumn('surfaces', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('client_approvals_key', ['client_id', 'tenant_id'])
    .execute()
}

async function createSignInTables(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('sign_in_sessions')
    .addColumn('id_hash', 'text', (column) => column.primaryKey())
    .addColumn('person_id', 'text', (column) => column.notNull().references('people.id'))
    .addColumn('created_ms', 'bigint', (column) => column.notNull())
    .addColumn('seen_ms', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema
    .createTable('authorization_requests')
    .addColumn('id_hash', 'text', (column) => column.primaryKey())
    .addColumn('browser_hash', 'text', (column) => column.notNull())
    .addColumn('client_id', 'text', (column) => column.notNull().references('clients.id'))
    .addColumn('redirect_uri', 'text', (column) => column.notNull())
    .addColumn('scope', 'text', (column) => column.notNull())
    .addColumn('state', 'text')
    .addColumn('code_challenge', 'text')
    .addColumn('refusal', 'text')
    .addColumn('session_hash', 'text')
    .addColumn('consent_hash', 'text')
    .addColumn('expires_ms', 'bigint', (column) => column.notNull())
    .addColumn('decided_ms', 'bigint')
    .execute()
}

async function createTokenTables(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('authorization_codes')
    .addColumn('hash', 'text', (column) => column.primaryKey())
    .addColumn('client_id', 'text', (column) => column.notNull().references('clients.id'))
    .addColumn('redirect_uri', 'text', (column) => column.notNull())
    .addColumn('code_challenge', 'text')
    .addColumn('person_id', 'text', (column) => column.notNull().references('people.id'))
    .addColumn('tenant_id', 'text', (column) => column.notNull())
    .addColumn('scope', 'text', (column) => column.notNull())
    .addColumn('expires_ms', 'bigint', (column) => column.notNull())
    .addColumn('attempts', 'integer', (column) => column.notNull())
    .addColumn('used_ms', 'bigint')
    .addColumn('grant_id', 'text')
    .addColumn('keep_until_ms', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema
    .createTable('grants')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('client_id', 'text', (column) => column.notNull().references('clients.id'))
    .addColumn('person_id', 'text', (column) => column.notNull().references('people.id'))
    .addColumn('tenant_id', 'text', (column) => column.notNull())
    .addColumn('scope', 'text', (column) => column.notNull())
    .addColumn('created_ms', 'bigint', (column) => column.notNull())
    .addColumn('expires_ms', 'bigint', (column) => column.notNull())
    .addColumn('touched_ms', 'bigint', (column) => column.notNull())
    .addColumn('revoked_ms', 'bigint')
    .execute()
  await db.schema
    .createTable('refresh_tokens')
    .addColumn('hash', 'text', (column) => column.primaryKey())
    .addColumn('grant_id', 'text', (column) => column.notNull().references('grants.id'))
    .addColumn('idle_expires_ms', 'bigint', (column) => column.notNull())
    .addColumn('used_ms', 'bigint')
    .addColumn('revoked_ms', 'bigint')
    .addColumn('successor_hash', 'text')
    .addColumn('successor_sealed', 'text')
    .execute()
  await db.schema
    .createTable('access_tokens')
    .addColumn('hash', 'text', (column) => column.primaryKey())
    .addColumn('grant_id', 'text', (column) => column.notNull().references('grants.id'))
    .addColumn('expires_ms', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema
    .createTable('session_tokens')
    .addColumn('hash', 'text', (column) => column.primaryKey())
    .addColumn('person_id', 'text', (column) => column.notNull().references('people.id'))
    .addColumn('expires_ms', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema.createIndex('refresh_tokens_by_grant').on('refresh_tokens').column('grant_id').execute()
  await db.schema.createIndex('access_tokens_by_grant').on('access_tokens').column('grant_id').execute()
  await db.schema.createIndex('access_tokens_by_expiry').on('access_tokens').column('expires_ms').execute()
  await db.schema.createIndex('codes_by_retention').on('authorization_codes').column('keep_until_ms').execute()
  await db.schema.createIndex('grants_by_expiry').on('grants').column('expires_ms').execute()
  await db.schema.createIndex('requests_by_expiry').on('authorization_requests').column('expires_ms').execute()
}
