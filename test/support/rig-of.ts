import { onTestFinished } from 'vitest'
import { type BackendRig, backendRig, type RigOptions } from './backend-rig.ts'
import { lendService } from './service-pool.ts'

/** Makes a rig that is closed after the test. */
export async function rigOf(options?: RigOptions): Promise<BackendRig> {
  const rig = await backendRig({ start: lendService, ...options })
  onTestFinished(() => rig.close())
  return rig
}
