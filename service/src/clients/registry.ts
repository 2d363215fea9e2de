import { keyedHash, randomId, randomSecret } from '../credentials/tokens.ts'
import { requestLimits } from '../limits.ts'
import { refuseRedirectUri, refuseRegistration } from '../redirect-uris.ts'
import type { ClientRegistry } from '../store/client-registry.ts'
import { hasInvisible, isStorable } from '../store/database.ts'
import type { RegistryEvent } from '../store/schema.ts'

interface ClientForm {
  name: string
  kind: 'public' | 'confidential'
  redirectUris: string[]
}

type RefusedForm = { kind: 'refused'; problem: string; path: readonly (string | number)[] }

/** Reads the form of a new client, or returns why and where it is refused. Nothing lets an admin choose an id. */
export function readClientForm(asked: {
  name: string
  kind: string
  redirectUris: string[]
}): { kind: 'form'; form: ClientForm } | RefusedForm {
  const { name, kind, redirectUris } = asked
  const badName = refuseName(name)
  if (badName !== undefined) return { kind: 'refused', problem: badName, path: ['name'] }
  const badUris = refuseRegistration(redirectUris)
  if (badUris !== undefined) {
    const index = redirectUris.findIndex((uri) => refuseRedirectUri(uri) === badUris)
    return { kind: 'refused', problem: badUris, path: index === -1 ? ['redirectUris'] : ['redirectUris', index] }
  }
  if (kind !== 'public' && kind !== 'confidential') {
    return { kind: 'refused', problem: 'the kind must be public or confidential', path: ['kind'] }
  }
  const repeated = redirectUris.findIndex((uri, index) => redirectUris.indexOf(uri) < index)
  if (repeated !== -1) {
    const problem = 'a redirect URI is repeated; list each one once'
    return { kind: 'refused', problem, path: ['redirectUris', repeated] }
  }
  return { kind: 'form', form: { name, kind, redirectUris } }
}

/** Returns why a name is refused. */
function refuseName(name: string): string | undefined {
  if (name.trim() === '' || [...name].length > requestLimits.clientNameCharacters)
    return `the name must have 1 to ${requestLimits.clientNameCharacters} characters`
  return hasInvisible(name) || !isStorable(name)
    ? 'the name must not have control, bidi or zero-width characters'
    : undefined
}

/** Where, by whom and when the clients of a tenant are changed. The pages and the command pass it. */
export interface RegistryContext {
  registry: ClientRegistry
  hashKey: Uint8Array
  nowMs: number
  /** The id of the user who makes the change, or `command line`. */
  actor: string
}

/** `done` is committed. `refused` changed nothing and says why. */
export type RegistryResult<Value> = { kind: 'done'; value: Value } | { kind: 'refused'; problem: string }

/** The client id and its secret, which can be read only now. */
interface Credentials {
  clientId: string
  clientSecret: string | undefined
}

/**
 * Registers a client. A confidential one gets a secret, which is shown once: only its hash
 * is stored.
 */
export async function createClient(context: RegistryContext, form: ClientForm): Promise<RegistryResult<Credentials>> {
  const clientId = randomId('app')
  return inTransaction(context, async (registry, record) => {
    if ((await registry.count()) >= requestLimits.clientsPerTenant)
      return refused(`the tenant has the maximum of ${requestLimits.clientsPerTenant} clients`)
    await registry.create({ ...form, id: clientId })
    await record('client_created', clientId)
    const clientSecret = form.kind === 'confidential' ? await addSecret(context, registry, clientId) : undefined
    return { kind: 'done', value: { clientId, clientSecret } }
  })
}

/**
 * Adds a second secret, so that a running application can change to it before the first one is
 * retired.
 */
export async function rotateSecret(context: RegistryContext, clientId: string): Promise<RegistryResult<Credentials>> {
  return inTransaction(context, async (registry, record) => {
    await registry.lock(clientId)
    const client = await registry.find(clientId)
    if (client === undefined) return refused('there is no such client')
    if (client.kind === 'public') return refused('a public client has no secret')
    const secrets = await registry.activeSecrets(clientId, context.nowMs)
    if (secrets.length >= requestLimits.clientSecrets)
      return refused(`${requestLimits.clientSecrets} secrets are active; retire one first`)
    await record('client_secret_created', clientId)
    return { kind: 'done', value: { clientId, clientSecret: await addSecret(context, registry, clientId) } }
  })
}

/** Retires a secret, which is refused from then on (`findSecretHashes`). The only active one cannot be retired. */
export async function retireSecret(
  context: RegistryContext,
  { clientId, secretId }: { clientId: string; secretId: string },
): Promise<RegistryResult<undefined>> {
  return inTransaction(context, async (registry, record) => {
    await registry.lock(clientId)
    if ((await registry.find(clientId)) === undefined) return refused('there is no such client')
    const secrets = await registry.activeSecrets(clientId, context.nowMs)
    if (!secrets.some(({ id }) => id === secretId)) return refused('there is no such active secret')
    if (secrets.length === 1) return refused('this is the only secret; make a new one first, or deactivate the client')
    await registry.retireSecret(clientId, secretId, context.nowMs)
    await record('client_secret_retired', clientId)
    return { kind: 'done', value: undefined }
  })
}

/**
 * Activates or deactivates a client. While it is inactive, its tokens are refused from the next call on, and it gets no new ones
 *. Its tokens are not revoked.
 */
export async function setActivity(
  context: RegistryContext,
  { clientId, activity }: { clientId: string; activity: 'active' | 'inactive' },
): Promise<RegistryResult<undefined>> {
  return inTransaction(context, async (registry, record) => {
    if ((await registry.find(clientId)) === undefined) return refused('there is no such client')
    await registry.setActive(clientId, activity)
    await record(activity === 'active' ? 'client_activated' : 'client_deactivated', clientId)
    return { kind: 'done', value: undefined }
  })
}

async function addSecret(
  { hashKey, nowMs: createdMs }: RegistryContext,
  registry: ClientRegistry,
  clientId: string,
): Promise<string> {
  const secret = randomSecret()
  await registry.addSecret({ id: randomId('secret'), clientId, hash: keyedHash(hashKey, secret), createdMs })
  return secret
}

type Recorder = (event: RegistryEvent, clientId: string) => Promise<void>

/** Makes a change and records it in one transaction. */
function inTransaction<Value>(
  { registry, nowMs, actor }: RegistryContext,
  run: (registry: ClientRegistry, record: Recorder) => Promise<Value>,
): Promise<Value> {
  return registry.transact((tx) => run(tx, (event, clientId) => tx.record({ atMs: nowMs, event, actor, clientId })))
}

function refused(problem: string): { kind: 'refused'; problem: string } {
  return { kind: 'refused', problem }
}
