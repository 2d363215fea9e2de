import { memory } from './backend/memory.ts'
import { proxy } from './backend/proxy.ts'
import { sealing } from './backend/sealing.ts'

/** The backend's own costs: what sealing, forwarding and an idle session cost. */
export async function backend(): Promise<boolean> {
  const results = [await sealing(), await memory(), await proxy()]
  return results.every(Boolean)
}
