import { createHash } from 'node:crypto'
import { demoModels } from './demo-models.ts'
import type { Seed, SeedClient, SeedModel, SeedPerson } from './seed-schema.ts'

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
export function derivedId(kind: 'app' | 'person' | 'secret', parts: readonly string[]): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([kind, ...parts]))
    .digest('hex')
  return `${kind}_${digest.slice(0, 32)}`
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
