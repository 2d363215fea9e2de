import { afterAll } from 'vitest'
import type { ServiceOptions } from '../src/index.ts'
import type { Assembly } from '../src/server/assemble.ts'
import { assemble } from './start.ts'

/**
 * Returns a function that gives the tests of a file one service, with the data of a new one: a reset takes a quarter of the processor
 * time of a start. Its clock runs, as far ahead as earlier tests left it. A test that replaces a part of a service needs its own.
 */
export function oneService(options: ServiceOptions = {}): () => Promise<Assembly> {
  let assembly: Assembly | undefined
  afterAll(() => assembly?.service.close())
  return async () => {
    if (assembly === undefined) {
      assembly = await assemble(options)
    } else {
      assembly.service.dev.unfreeze()
      await assembly.service.dev.reset()
    }
    return assembly
  }
}
