import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { type BackendRig, backendRig, type RigOptions } from './backend-rig.ts'
import { lendService } from './service-pool.ts'

/** Returns the port of a server that the app of a test has started, which is closed after the test. */
export async function portOf(server: Server): Promise<number> {
  if (!server.listening) await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** Makes a rig that is closed after the test. */
export async function rigOf(options?: RigOptions): Promise<BackendRig> {
  const rig = await backendRig({ start: lendService, ...options })
  onTestFinished(() => rig.close())
  return rig
}
