import { createHash } from 'node:crypto'
import type { NewContextGroup, NewLlmModel, NewParentAgent } from '../store/tenant.ts'
import type { Seed, SeedClient, SeedModel, SeedPerson } from './seed-schema.ts'

/** A mistake in a seed. The message has the file, if there is one, and the path in it. */
export class SeedError extends Error {
  override readonly name: string = 'SeedError'

  constructor(
    readonly problem: string,
    file?: string,
  ) {
    super(`${file ?? 'seed'}: ${problem}`)
  }
}

/** The models of the demo tenants, and of tenants of a seed that names none. */
export const demoModels: readonly NewLlmModel[] = [
  { model_name: 'Aurora', model_version: '2.1', provider: 'northlight' },
  { model_name: 'Aurora Mini', model_version: '2.1', provider: 'northlight' },
  { model_name: 'Basalt', model_version: '7', provider: 'quarry' },
  { model_name: 'Basalt Long', model_version: '7', provider: 'quarry' },
  { model_name: 'Cirrus', model_version: '2026-03', provider: 'weatherworks' },
  { model_name: 'Cirrus Fast', model_version: '2026-03', provider: 'weatherworks' },
]

/** Returns the tenant of an entry, which may leave it out if the seed has one. */
export function tenantOf({ tenants }: Seed, { tenant }: { tenant?: string | undefined }): string {
  return tenant ?? tenants[0]?.id ?? ''
}

export function personIdOf(seed: Seed, person: SeedPerson): string {
  return person.id ?? derivedId('person', [tenantOf(seed, person), person.email.toLowerCase()])
}

export function clientIdOf(seed: Seed, client: SeedClient): string {
  return client.clientId ?? derivedId('app', [tenantOf(seed, client), client.name])
}

/** Returns an id that is the same at every start, and of the form that the service gives its own. */
function derivedId(kind: 'app' | 'person' | 'secret', parts: readonly string[]): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([kind, ...parts]))
    .digest('hex')
  return `${kind}_${digest.slice(0, 32)}`
}

/** The time of what has none in the seed, so that two starts are alike. */
export const defaultMs = Date.UTC(2026, 0, 1)

/** Returns the id and the time of a secret that the seed has as text. */
export function firstSecretOf(clientId: string): { id: string; createdMs: number } {
  return { id: derivedId('secret', [clientId]), createdMs: defaultMs }
}

/** A model with its tenant and its id. */
export type NumberedModel = SeedModel & { id: number; tenant: string }

/** Returns all models of a seed. A tenant without any has the demo models, because every agent has a model. */
export function modelsOf(seed: Seed): NumberedModel[] {
  const own: (SeedModel & { tenant: string })[] = (seed.models ?? []).map((model) => ({
    ...model,
    tenant: tenantOf(seed, model),
  }))
  const without = seed.tenants.filter(({ id }) => !own.some(({ tenant }) => tenant === id))
  const added = without.flatMap(({ id: tenant }) => demoModels.map((model) => ({ ...model, tenant })))
  return numbered<SeedModel & { tenant: string }>([...own, ...added])
}

/** Gives each entry without an id the lowest number that is free, in order. */
export function numbered<Item extends { id?: number | undefined }>(items: readonly Item[]): (Item & { id: number })[] {
  const taken = new Set(items.map(({ id }) => id))
  let next = 1
  return items.map((item) => {
    if (item.id !== undefined) return { ...item, id: item.id }
    while (taken.has(next)) next += 1
    next += 1
    return { ...item, id: next - 1 }
  })
}

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
