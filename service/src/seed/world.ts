import type { NewContextGroup } from '../store/tables/tenant/context-groups.ts'
import type { NewLlmModel } from '../store/tables/tenant/llm-models.ts'
import type { NewParentAgent } from '../store/tables/tenant/parent-agents.ts'
import type { Seed } from './seed-schema.ts'

type Activity = 'active' | 'inactive'

/** All that a database is filled with: ids, times and defaults are decided. Without a seed it is the demo data. */
export interface World {
  tenants: { id: string; name: string; activity: Activity; billing: Activity }[]
  people: WorldPerson[]
  clients: WorldClient[]
  models: { tenant: string; id: number; model: NewLlmModel }[]
  agents: { tenant: string; id: number; agent: NewParentAgent; groups: NewContextGroup[] }[]
  endpointBilling: Seed['endpointBilling']
  /** The key of the hashes in it, in base64url. Without one, it has no keyed hashes. */
  hashKey: string | undefined
  /** Tells a seed from others. Absent: the demo data, which are random. */
  digest: string | undefined
}

export interface WorldPerson {
  id: string
  name: string
  email: string
  /** Absent if only its hash is known. */
  password: string | undefined
  passwordHash: string | undefined
  tenant: string
  permissions: string[]
  activity: Activity
}

export interface WorldClient {
  clientId: string
  name: string
  kind: 'public' | 'confidential'
  clientSecret: string | undefined
  /** Secrets of which only the hashes are known, keyed with the `hashKey`. */
  secrets: { id: string; hash: string; createdMs: number }[]
  tenant: string
  redirectUris: string[]
  activity: Activity
  approval: 'approved' | 'unapproved'
  surfaces: string[]
}
