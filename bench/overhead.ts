import { asShipped } from './backend/as-shipped.ts'
import type { Figure, Size } from './figures.ts'
import { inProcess } from './overhead/in-process.ts'
import { overServer } from './overhead/server.ts'

/** The bearer fetch with a valid token against the least one could write by hand, as the package has it. */
export async function overhead(size: Size): Promise<Figure[]> {
  const library = await asShipped<typeof import('../src/index.ts')>('src/index.ts')
  return [
    await inProcess(library, 'text', size),
    await inProcess(library, 'request', size),
    await overServer(library, size),
  ]
}
