import * as z from 'zod/mini'
import { type AccessChange, type EndpointId, readAccessChange } from '../access-change.ts'
import type { ServiceContext } from '../context.ts'
import { randomToken } from '../credentials/tokens.ts'
import { firstNames, problemText, strict } from '../issue-text.ts'
import { lifetimes, toolLimits } from '../limits.ts'
import { fillDatabase, requireDemoData } from '../seed/fill-database.ts'
import type { World } from '../seed/world.ts'
import type { Client, DevControls, Person } from '../service.ts'
import type { FaultRule } from '../state.ts'
import { changeApproval, listClients } from '../store/clients.ts'
import { type Db, findServiceKey, hashToken, transact } from '../store/database.ts'
import { findAccountByEmail, listAccounts, setPermissions } from '../store/logins.ts'
import { listTenantIds, setTenantBilling } from '../store/tenants.ts'
import { expireEveryAccessToken, revokeEveryRefreshToken, saveSessionToken } from '../store/tokens.ts'

const header = z.string().check(z.regex(/^[\x20-\x7e]*$/, 'must be ASCII'))
const path = z
  .string()
  .check(z.regex(/^\/[^*?#]*\*?$/, 'must begin with /, without a query, and with * only at its end'))

const effects = ['reset', 'truncate', 'drop-after-commit'] as const
const effectText = `must be ${effects.join(', ')}, {"status": 200 to 599} or {"delayMs": 0 to ${toolLimits.faultDelayMs}}`

const faultRule: z.ZodMiniType<FaultRule> = strict({
  match: z.optional(
    strict({
      method: z.optional(z.string()),
      path: z.optional(path),
      origin: z.optional(z.enum(['auth', 'base'])),
    }),
  ),
  effect: z.union(
    [
      z.enum(effects),
      strict({ delayMs: wholeNumber(0, toolLimits.faultDelayMs) }),
      strict({
        status: wholeNumber(200, 599),
        body: z.optional(z.unknown()),
        headers: z.optional(z.record(z.string().check(z.regex(/^[A-Za-z0-9-]+$/)), header)),
      }),
    ],
    effectText,
  ),
  times: z.optional(z.int().check(z.gte(1))),
})

function wholeNumber(least: number, most: number): z.ZodMiniNumber {
  const isInRange = (value: number) => Number.isInteger(value) && value >= least && value <= most
  return z.number().check(z.refine(isInRange, `must be a whole number from ${least} to ${most}`))
}

/** Returns the rule. Throws a TypeError that names the wrong member, because a misspelt one would be a fault that never happens. */
function readFaultRule(value: unknown): FaultRule {
  const read = faultRule.safeParse(value, { reportInput: true })
  if (!read.success) throw new TypeError(problemText(read.error))
  return read.data
}

/** Applies an access change, all or nothing. Rejects with a TypeError that names the tenant, client or user that is unknown. */
export async function setAccess({ store, endpointBilling }: ServiceContext, value: AccessChange): Promise<void> {
  const change = readAccessChange(value)
  if (Object.keys(change).length === 0) return
  await transact(store.db, async (tx) => {
    for (const [id, billing] of entries(change.billing)) {
      if ((await setTenantBilling(tx, id, billing)) === 'unknown') throw unknown('tenant', id, await listTenantIds(tx))
    }
    const changes = [
      ...entries(change.approval).map(([name, approval]) => [name, { approval }] as const),
      ...entries(change.surfaces).map(([name, surfaces]) => [name, { surfaces }] as const),
    ]
    for (const [name, wanted] of changes) {
      const names = async () => (await listClients(tx)).map((client) => client.name)
      if ((await changeApproval(tx, name, wanted)) === 'unknown') throw unknown('client', name, await names())
    }
    for (const [email, permissions] of entries(change.permissions)) {
      const emails = async () => (await listAccounts(tx)).map((person) => person.email)
      if ((await setPermissions(tx, email, permissions)) === 'unknown') throw unknown('person', email, await emails())
    }
  })
  for (const [id, billing] of entries(change.endpointBilling)) endpointBilling.set(id as EndpointId, billing)
}

/** Applies what a seed says of the endpoints that need billing. It belongs to the process, so every start does this. */
export async function applyEndpointBilling({ store, endpointBilling }: ServiceContext): Promise<void> {
  const stored = await findServiceKey(store.db, 'endpoint-billing')
  const change = readAccessChange({ endpointBilling: JSON.parse(stored ?? '{}') })
  for (const [id, billing] of entries(change.endpointBilling)) endpointBilling.set(id as EndpointId, billing)
}

function entries<Value>(record: Record<string, Value> | undefined): [string, Value][] {
  return Object.entries(record ?? {})
}

function unknown(what: 'tenant' | 'client' | 'person', name: string, known: readonly string[]): TypeError {
  return new TypeError(`there is no ${what} ${JSON.stringify(name.slice(0, 40))}; there are ${firstNames(known)}`)
}

/** Returns the message about an email address that no account has. */
export function unknownAccountText(emails: readonly string[]): string {
  return `no account has this email address; there are ${firstNames(emails)}`
}

/** Makes the dev controls. Only they issue user session tokens. */
export function createDevControls(
  service: ServiceContext,
  world: () => World,
): Omit<DevControls, 'autoApprove' | 'autoDeny'> {
  const { clock, store, journal, logins, throttles, faults, automatic, endpointBilling, config } = service
  /** Locks first, because an update does not see the rows that a refresh or a redemption inserts at the same time. */
  function onEveryAuthorization(change: (tx: Db) => Promise<unknown>): Promise<void> {
    const locked = async (tx: Db): Promise<void> => {
      await store.lockAuthorizations(tx)
      await change(tx)
    }
    return transact(store.db, locked, 'after-lock-timeout')
  }
  return {
    nowMs: () => clock.nowMs(),
    advance: (ms) => clock.advance(ms),
    freeze: () => clock.freeze(),
    unfreeze: () => clock.unfreeze(),
    clockState: () => clock.state(),
    expireAccessTokens: () => onEveryAuthorization((tx) => expireEveryAccessToken(tx, { nowMs: clock.nowMs() })),
    revokeRefreshTokens: () => onEveryAuthorization((tx) => revokeEveryRefreshToken(tx, { nowMs: clock.nowMs() })),
    async mintSessionToken(email) {
      const account = await findAccountByEmail(store.db, email)
      if (account === undefined) {
        const emails = (await listAccounts(store.db)).map((one) => one.email)
        throw new Error(unknownAccountText(emails))
      }
      const token = randomToken('ast_')
      const expiresMs = clock.nowMs() + lifetimes.sessionTokenMs
      await saveSessionToken(store.db, { hash: hashToken(token), personId: account.id, expiresMs })
      return token
    },
    journal: () => journal.entries(),
    addFault: (rule) => {
      faults.add(readFaultRule(rule))
    },
    clearFaults: () => faults.clear(),
    faults: () => faults.list(),
    setAccess: (change) => setAccess(service, change),
    autoApproved: () => (automatic.decision === 'approve' ? automatic.email : undefined),
    // Everything that is stored or remembered, also sign-ins, tokens and throttles. The clock stays where it is.
    async reset() {
      const first = world()
      if (first.digest === undefined) await requireDemoData(service)
      await fillDatabase(service, first, 'replace')
      journal.clear()
      logins.clear()
      faults.clear()
      automatic.email = undefined
      endpointBilling.clear()
      await applyEndpointBilling(service)
      await setAccess(service, config.access)
      for (const throttle of Object.values(throttles)) throttle.clear()
    },
  }
}

export interface Roster {
  people: Person[]
  clients: Client[]
  /** Returns the email address of an account, or an empty text. */
  emailOf(personId: string | undefined): string
}

/** Reads users and clients. Only the process that made their passwords and secrets knows them. */
export async function readRoster(db: Db, world: World | undefined): Promise<Roster> {
  const accounts = await listAccounts(db)
  const clients = await listClients(db)
  return {
    emailOf: (personId) => accounts.find(({ id }) => id === personId)?.email ?? '',
    people: accounts.map(({ id, name, email, tenantId, permissions }) => {
      const password = world?.people.find((person) => person.id === id)?.password ?? ''
      return { name, email, password, tenant: tenantId, permissions }
    }),
    clients: clients.map(({ id, name, kind, tenantId, redirectUris }) => {
      const clientSecret = world?.clients.find(({ clientId }) => clientId === id)?.clientSecret
      const secret = clientSecret === undefined ? {} : { clientSecret }
      return { name, clientId: id, kind, ...secret, tenant: tenantId, redirectUris }
    }),
  }
}
