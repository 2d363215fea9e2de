import { afterAll } from 'vitest'
import type { Service, ServiceOptions } from '../../src/index.ts'
import type { Assembly } from '../../src/server/create-service.ts'
import { assemble } from './start.ts'

// Each returns a function that gives the tests of a file one service, with the data of a new one: a reset takes less processor time
// than a start. Its clock runs, as far ahead as earlier tests left it. A test that replaces a part of a service needs its own.

export function oneAssembly(options: ServiceOptions = {}): () => Promise<Assembly> {
  return kept(
    () => assemble(options),
    ({ service }) => service,
  )
}

export function oneService<Started extends Service>(start: () => Promise<Started>): () => Promise<Started> {
  return kept(start, (service) => service)
}

function kept<Started>(
  start: () => Promise<Started>,
  serviceOf: (started: Started) => Service,
): () => Promise<Started> {
  let service: Service | undefined
  let started: Promise<Started> | undefined
  afterAll(() => service?.close())
  return async () => {
    if (service !== undefined) {
      service.dev.unfreeze()
      await service.dev.reset()
    }
    started ??= start()
    service = serviceOf(await started)
    return started
  }
}
