import { asShipped } from '../backend/as-shipped.ts'
import type { Size } from '../figures.ts'
import { inProcess } from './in-process.ts'
import { overServer } from './server.ts'

const [, , form, sizeName] = process.argv
const size: Size = sizeName === 'short' ? 'short' : 'whole'
const library = await asShipped<typeof import('../../src/index.ts')>('src/index.ts')
process.send?.(
  form === 'server'
    ? await overServer(library, size)
    : await inProcess(library, form === 'request' ? 'request' : 'text', size),
)
