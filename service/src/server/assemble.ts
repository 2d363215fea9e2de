import type { ServiceConfig } from '../config.ts'
import { checkIsObject, createServiceConfig } from '../config.ts'
import type { ServiceContext } from '../context.ts'
import { loadKeys } from '../credentials/keys.ts'
import { createPasswords } from '../credentials/passwords.ts'
import { createThrottles } from '../credentials/throttles.ts'
import { createDevControls, unknownAccountText } from '../dev/controls.ts'
import { makeDemoWorld } from '../dev/demo-world.ts'
import { createDevApp, refuseDevControls } from '../dev/dev-app.ts'
import { readRoster } from '../dev/roster.ts'
import { isSeeded, seed } from '../dev/seed.ts'
import { setAccess } from '../dev/set-access.ts'
import type { DevControls, Service } from '../service.ts'
import type { ServiceOptions } from '../service-options.ts'
import { isText } from '../shape.ts'
import { createAutoApproval } from '../state/auto-approval.ts'
import { createClock } from '../state/clock.ts'
import { createEndpointBilling } from '../state/endpoint-billing.ts'
import { createFaults } from '../state/faults.ts'
import { createJournal } from '../state/journal.ts'
import { createLogins } from '../state/logins.ts'
import { openStore } from '../store/store.ts'
import { createTelemetry } from '../telemetry/telemetry.ts'
import { createAuthApp } from './auth-origin.ts'
import { addGauges } from './gauges.ts'
import { createInProcessFetch } from './in-process-fetch.ts'
import type { ServedApp } from './served-app.ts'
import { onFirstRequest } from './served-app.ts'

/** A service, and its parts for the listeners and for tests. */
export interface Assembly {
  service: Service
  context: ServiceContext
  authApp: ServedApp
  apiApp: ServedApp
}

/** Creates the service in this process, without a port. */
export async function createService(options: ServiceOptions = {}): Promise<Service> {
  checkIsObject('createService', options)
  return (await assemble(options)).service
}

export async function assemble(options: ServiceOptions): Promise<Assembly> {
  const config = createServiceConfig(options)
  const context = await createContext(config)
  try {
    return await addParts(context)
  } catch (error) {
    await context.store.close()
    throw error
  }
}

async function addParts(context: ServiceContext): Promise<Assembly> {
  const { config, store } = context
  const isFirstStart = !(await isSeeded(store.db))
  let world = isFirstStart ? makeDemoWorld(config.redirectUris) : undefined
  if (world !== undefined && (await seed(context, world, 'if-empty')) === 'filled before') world = undefined
  await setAccess(context, config.access)
  let roster = await readRoster(store.db, world)
  const controls = createDevControls(context, () => {
    world ??= makeDemoWorld(config.redirectUris)
    return world
  })
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
    autoApprove(email: string | undefined) {
      if (email !== undefined && !isText(email))
        throw new TypeError('autoApprove needs an email address as text, or undefined')
      const wanted = email?.toLowerCase()
      const emails = roster.people.map((person) => person.email)
      if (wanted !== undefined && !emails.includes(wanted)) throw new Error(unknownAccountText(emails))
      context.autoApproval.set(wanted)
    },
  }
  const authApp = createAuthApp(context)
  const { authUrl, baseUrl } = config
  if (config.dev === 'on')
    authApp.route('/_dev', createDevApp({ authUrl, baseUrl, dev, roster: () => roster, logins: context.logins }))
  else authApp.all('/_dev', refuseDevControls).all('/_dev/*', refuseDevControls)
  // Its schemas are a tenth of a start, and a login needs none of them.
  const apiApp = onFirstRequest(async () => (await import('./api-origin.ts')).createApiApp(context))
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

async function createContext(config: ServiceConfig): Promise<ServiceContext> {
  const clock = createClock()
  const telemetry = await createTelemetry(config)
  const store = await openStore(config)
  const keys = await loadKeys(store.db)
  const passwords = createPasswords({ scheme: config.passwordScheme, key: keys.hashKey })
  addGauges(telemetry, { passwords, store })
  return {
    config,
    clock,
    store,
    keys,
    journal: createJournal(clock, telemetry.event),
    logins: createLogins(clock),
    faults: createFaults(),
    autoApproval: createAutoApproval(),
    endpointBilling: createEndpointBilling(),
    passwords,
    throttles: createThrottles(clock),
    telemetry,
  }
}
