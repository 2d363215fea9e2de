import { checkOptions, listeningHost } from '../config.ts'
import type { Service } from '../service.ts'
import type { ServiceOptions } from '../service-options.ts'
import { type Assembly, assemble } from './create-service.ts'
import { type Listener, type ListenOptions, listen, type ProcessUse, stop } from './listener.ts'

/** Returns why a port or an address cannot be used and what to do, or undefined for any other error. */
export function portFailureText(error: unknown, options: { ports: string; host: string }): string | undefined {
  const { code, port, address } = error as { code?: unknown; port?: unknown; address?: unknown }
  if (code === 'EADDRINUSE') {
    return `port ${port} is in use: stop what listens there, or choose another with ${options.ports} (0 picks a free one)`
  }
  if (code === 'EACCES' && typeof port === 'number') {
    return `this user may not listen on port ${port}: choose one above 1023 with ${options.ports}`
  }
  if (code === 'EADDRNOTAVAIL') return `this machine has no address ${address}: choose another with ${options.host}`
  return undefined
}

/** Starts the service on two ports, on loopback unless `host` is set. */
export function startService(options: ServiceOptions = {}): Promise<Service> {
  return start(options, 'shared')
}

/** Starts the service in a process that runs nothing else. */
export function startAlone(options: ServiceOptions): Promise<Service> {
  return start(options, 'alone')
}

async function start(given: ServiceOptions, process: ProcessUse): Promise<Service> {
  const options = checkOptions(given)
  const { authPort = 0, basePort = 0 } = options
  if (authPort !== 0 && authPort === basePort)
    throw new RangeError(`authPort and basePort are both ${authPort}; they must differ`)
  const shared = { host: listeningHost(options), process }
  const auth = await listenOn(options.authPort, { origin: 'auth', ...shared })
  const base = await listenOn(options.basePort, { origin: 'base', ...shared }).catch(async (error: unknown) => {
    await stop(auth.server)
    throw error
  })
  const servers = [auth.server, base.server]
  const urls = { authUrl: options.authUrl ?? auth.url, baseUrl: options.baseUrl ?? base.url }
  const { service, context, authApp, apiApp }: Assembly = await assemble({ ...options, ...urls }).catch(
    async (error: unknown) => {
      await Promise.all(servers.map(stop))
      throw error
    },
  )
  auth.serve(authApp)
  base.serve(apiApp)
  context.telemetry.step('started', { authUrl: service.authUrl, baseUrl: service.baseUrl, dev: context.config.dev })
  const closeStore = service.close
  async function closeAll(): Promise<void> {
    context.telemetry.step('stopping')
    await Promise.all(servers.map(stop))
    await closeStore()
    context.telemetry.step('stopped')
  }
  let closing: Promise<void> | undefined
  service.close = () => {
    // This comes first, because the servers wait for requests in progress.
    context.passwords.refuseWaiting()
    closing ??= closeAll()
    return closing
  }
  return service
}

/** Rejects with an error that has code and port of the cause and says what to do. */
function listenOn(port: number | undefined, options: ListenOptions): Promise<Listener> {
  return listen(port ?? 0, options).catch((error: unknown) => {
    const text = portFailureText(error, { ports: 'authPort and basePort', host: 'host' })
    if (text === undefined) throw error
    const { code } = error as { code?: unknown }
    throw Object.assign(new Error(text, { cause: error }), { code, port })
  })
}
