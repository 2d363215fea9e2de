import { afterEach } from 'vitest'
import { type BackendRig, backendRig, type RigOptions } from './backend-rig.ts'

const rigs: BackendRig[] = []
afterEach(async () => {
  await Promise.all(rigs.splice(0).map((rig) => rig.close()))
})

/** Makes a rig that is closed after the test. */
export async function rigOf(options?: RigOptions): Promise<BackendRig> {
  const rig = await backendRig(options)
  rigs.push(rig)
  return rig
}
