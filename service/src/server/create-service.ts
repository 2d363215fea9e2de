import { createServiceConfig, type ServiceConfig } from '../config.ts'
import type { ServiceContext } from '../context.ts'
import { createPasswords } from '../credentials/passwords.ts'
import { createThrottles } from '../credentials/throttle-policies.ts'
import { loadKeys } from '../credentials/tokens.ts'
import { applyEndpointBilling, createDevControls, readRoster, setAccess, unknownAccountText } from '../dev/controls.ts'
import { makeDemoWorld } from '../dev/demo-world.ts'
import { createDevApp, refuseDevControls } from '../dev/dev-app.ts'
import { createLogins } from '../dev/login-traces.ts'
import { fillDatabase, isFilled, requireSameSeed } from '../seed/fill-database.ts'
import type { Seed } from '../seed/seed-schema.ts'
import type { World } from '../seed/world.ts'
import type { DevControls, Service } from '../service.ts'
import type { ServiceOptions } from '../service-options.ts'
import { createClock, createFaults, createJournal } from '../state.ts'
import { openStore } from '../store/store.ts'
import { createTelemetry } from '../telemetry/telemetry.ts'
import { createAuthApp } from './auth-origin.ts'
import { createInProcessFetch, onFirstRequest, type ServedApp } from './listener.ts'

/** A service, and its parts for the listeners and for tests. */
export interface Assembly {
  service: Service
  context: ServiceContext
  authApp: ServedApp
  apiApp: ServedApp
}

/** Creates the service in this process, without a port. */
export async function createService(options: ServiceOptions = {}): Promise<Service> {
  return (await assemble(options)).service
}

export async function assemble(options: ServiceOptions): Promise<Assembly> {
  const config = createServiceConfig(options)
  const worlds = await worldsOf(config)
  const context = await createContext(config, worlds.seed?.hashKey)
  try {
    return await addParts(context, worlds)
  } catch (error) {
    await context.store.close()
    throw error
  }
}

interface Worlds {
  seed: Seed | undefined
  /** Makes what an empty database is filled with, and a reset goes back to. */
  make(nowMs: number): World
}

/** Reads the seed, if there is one, before a database is opened. Its schemas are loaded for a seed only. */
async function worldsOf({ seed, redirectUris }: ServiceConfig): Promise<Worlds> {
  if (seed === undefined) return { seed, make: (nowMs) => makeDemoWorld(redirectUris, nowMs) }
  const { loadSeed, worldOf } = await import('../seed/load-seed.ts')
  const loaded = await loadSeed(seed)
  return { seed: loaded, make: () => worldOf(loaded) }
}

/** Fills an empty database and returns what it holds, as far as this process knows it. */
async function fillOnce(context: ServiceContext, { make }: Worlds): Promise<World | undefined> {
  const { store, clock } = context
  const world = make(clock.nowMs())
  const isFirst = !(await isFilled(store.db)) && (await fillDatabase(context, world, 'if-empty')) === 'filled'
  if (!isFirst && world.digest !== undefined) await requireSameSeed(context, world.digest)
  return isFirst ? world : undefined
}

async function addParts(context: ServiceContext, worlds: Worlds): Promise<Assembly> {
  const { config, store } = context
  let world = await fillOnce(context, worlds)
  await applyEndpointBilling(context)
  await setAccess(context, config.access)
  let roster = await readRoster(store.db, world)
  const controls = createDevControls(context, () => {
    world ??= worlds.make(context.clock.nowMs())
    return world
  })
  function decideAlways(email: string | undefined, decision: 'approve' | 'deny'): void {
    if (email !== undefined && typeof email !== 'string')
      throw new TypeError(
        `auto${decision === 'deny' ? 'Deny' : 'Approve'} needs an email address as text, or undefined`,
      )
    const wanted = email?.toLowerCase()
    const emails = roster.people.map((person) => person.email)
    if (wanted !== undefined && !emails.includes(wanted)) throw new Error(unknownAccountText(emails))
    Object.assign(context.automatic, { email: wanted, decision })
  }
  const dev: DevControls = {
    ...controls,
    async reset() {
      await controls.reset()
      roster = await readRoster(store.db, world)
    },
    async setAccess(change) {
      await controls.setAccess(change)
      roster = await readRoster(store.db, world)
    },
    autoApprove: (email) => decideAlways(email, 'approve'),
    autoDeny: (email) => decideAlways(email, 'deny'),
  }
  const authApp = createAuthApp(context)
  const { authUrl, baseUrl } = config
  if (config.dev === 'on')
    authApp.route('/_dev', createDevApp({ authUrl, baseUrl, dev, roster: () => roster, logins: context.logins }))
  else authApp.all('/_dev', refuseDevControls).all('/_dev/*', refuseDevControls)
  // Its schemas are a tenth of a start, and a login needs none of them.
  const apiApp = onFirstRequest(async () => (await import('../api/api-app.ts')).createApiApp(context))
  let isClosed = false
  const service: Service = {
    authUrl,
    baseUrl,
    get people() {
      return roster.people
    },
    get clients() {
      return roster.clients
    },
    fetch: createInProcessFetch({ [authUrl]: authApp, [baseUrl]: apiApp }, () => isClosed),
    dev,
    close() {
      isClosed = true
      context.passwords.refuseWaiting()
      return store.close()
    },
  }
  return { service, context, authApp, apiApp }
}

async function createContext(config: ServiceConfig, hashKey: string | undefined): Promise<ServiceContext> {
  const clock = createClock()
  const telemetry = await createTelemetry(config)
  const store = await openStore(config)
  const loaded = await loadKeys(store.db)
  // The database gets the key of an export when it is filled. One that holds other data is refused after that.
  const keys = hashKey === undefined ? loaded : { ...loaded, hashKey: Buffer.from(hashKey, 'base64url') }
  const passwords = createPasswords({ scheme: config.passwordScheme, key: keys.hashKey })
  return {
    config,
    clock,
    store,
    keys,
    journal: createJournal(clock, telemetry.event),
    logins: createLogins(clock),
    faults: createFaults(),
    automatic: {},
    endpointBilling: new Map(),
    passwords,
    throttles: createThrottles(clock),
    telemetry,
  }
}
