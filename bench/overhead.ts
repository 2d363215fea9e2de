import { asShipped } from './backend/as-shipped.ts'
import { inProcess } from './overhead/in-process.ts'
import { overServer } from './overhead/server.ts'

/** The bearer fetch with a valid token against the least one could write by hand, as the package has it. */
export async function overhead(): Promise<boolean> {
  const library = await asShipped<typeof import('../src/index.ts')>('src/index.ts')
  const results = [await inProcess(library, 'text'), await inProcess(library, 'request'), await overServer(library)]
  return results.every(Boolean)
}
