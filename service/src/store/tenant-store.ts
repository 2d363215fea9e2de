import type { Db } from './database.ts'
import { rawDatabase } from './database.ts'
import { transact } from './engine/transact.ts'
import type { ClientRegistry } from './tables/tenant/client-registry.ts'
import { clientRegistryOf } from './tables/tenant/client-registry.ts'
import type { ContextGroups } from './tables/tenant/context-groups.ts'
import { contextGroupsOf } from './tables/tenant/context-groups.ts'
import type { LlmModels } from './tables/tenant/llm-models.ts'
import { llmModelsOf } from './tables/tenant/llm-models.ts'
import type { ParentAgents } from './tables/tenant/parent-agents.ts'
import { parentAgentsOf } from './tables/tenant/parent-agents.ts'
import type { RegistryChanges } from './tables/tenant/registry-changes.ts'
import { registryChangesOf } from './tables/tenant/registry-changes.ts'

/**
 * The data of one tenant. A call of the API gets the tenant of its bearer token. Each query of the tables of agents, models, context
 * groups and registry changes names the tenant. `clients.find` compares the tenant of the client that it found, and `clients.addSecret`
 * takes a client that `find` or `create` returned. Reads of agents, models and context groups also throw if a row of another tenant comes
 * back.
 */
export interface TenantStore {
  readonly tenantId: string
  readonly agents: ParentAgents
  readonly models: LlmModels
  readonly contextGroups: ContextGroups
  readonly clients: ClientRegistry
  readonly registryChanges: RegistryChanges
  /**
   * Runs `task` in a transaction, all or nothing. After a conflict it runs again, so a task must have no effect outside of its
   * transaction.
   */
  transact<Value>(task: (tenant: TenantStore) => Promise<Value>): Promise<Value>
}

/** Returns the data of one tenant on a connection or in an open transaction. */
export function tenantStore(db: Db, tenantId: string): TenantStore {
  const raw = rawDatabase(db)
  return {
    tenantId,
    get agents() {
      return parentAgentsOf(raw, tenantId)
    },
    get models() {
      return llmModelsOf(raw, tenantId)
    },
    get contextGroups() {
      return contextGroupsOf(raw, tenantId)
    },
    get clients() {
      return clientRegistryOf(db, tenantId)
    },
    get registryChanges() {
      return registryChangesOf(raw, tenantId)
    },
    transact: (task) => transact(db, (tx) => task(tenantStore(tx, tenantId))),
  }
}
