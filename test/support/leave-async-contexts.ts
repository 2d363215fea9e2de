import { AsyncLocalStorage } from 'node:async_hooks'
import { afterAll } from 'vitest'

// Runs before every test file. Once an AsyncLocalStorage was entered, Node follows every promise of the process, which
// then take three times as long: what a file entered is left at its end, so that the next one begins as in a process of its own.

const slot: unique symbol = Symbol.for('agent-auth.test.entered') as never
const prototype = AsyncLocalStorage.prototype as { [slot]?: Set<AsyncLocalStorage<unknown>> }
const entered = prototype[slot] ?? watch()

afterAll(() => {
  for (const storage of entered) storage.disable()
  entered.clear()
})

function watch(): Set<AsyncLocalStorage<unknown>> {
  const storages = new Set<AsyncLocalStorage<unknown>>()
  const { run } = AsyncLocalStorage.prototype
  Object.assign(AsyncLocalStorage.prototype, {
    [slot]: storages,
    run(this: AsyncLocalStorage<unknown>, ...args: Parameters<typeof run>): unknown {
      storages.add(this)
      return Reflect.apply(run, this, args)
    },
  })
  return storages
}
