import { lookups } from './backend/lookups.ts'
import { memory } from './backend/memory.ts'
import { proxy } from './backend/proxy.ts'
import type { Figure, Size } from './figures.ts'

/** The backend's own costs: idle sessions, lookups in Redis, forwarding. */
export async function backend(size: Size): Promise<Figure[]> {
  return [...(await memory(size)), ...(await lookups(size)), ...(await proxy(size))]
}
