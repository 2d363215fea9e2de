import { asShipped } from '../backend/as-shipped.ts'
import type { Figure, Size } from '../figures.ts'
import { inProcess } from './in-process.ts'
import { overServer } from './server.ts'

const size: Size = process.argv[2] === 'short' ? 'short' : 'whole'
const library = await asShipped<typeof import('../../src/index.ts')>('src/index.ts')
const figures: Figure[] = [
  await inProcess(library, 'text', size),
  await inProcess(library, 'request', size),
  await overServer(library, size),
]
process.send?.(figures)
