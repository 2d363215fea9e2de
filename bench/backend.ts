import { lookups } from './backend/lookups.ts'
import { memory } from './backend/memory.ts'
import { proxy } from './backend/proxy.ts'
import { sealing } from './backend/sealing.ts'

/** The backend's own costs: sealing, idle sessions, lookups in Redis, forwarding. */
export async function backend(): Promise<boolean> {
  const results = [await sealing(), await memory(), await lookups(), await proxy()]
  return results.every(Boolean)
}
