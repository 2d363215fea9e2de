import { afterEach, vi } from 'vitest'
import type { AuthEvent } from '../../src/events.ts'
import { forgetSecrets, report } from './canary.ts'
import { noteError, notePrinted, noteRequest, noteText, takeLeaks } from './canary-witness.ts'

// Runs before every test file: after each test, whatever the library printed, threw or emitted is searched for secrets.

const slot: unique symbol = Symbol.for('agent-auth.test.witnessed') as never

forgetSecrets()
takeLeaks()

vi.mock('../../src/errors.ts', async (importOriginal) => {
  const original = await importOriginal<typeof import('../../src/errors.ts')>()
  // Files without isolation share the modules of the first: the class stays the one that those were linked with.
  const AgentAuthError = once(
    original.AgentAuthError,
    () =>
      class AgentAuthError extends original.AgentAuthError {
        constructor(...args: ConstructorParameters<typeof original.AgentAuthError>) {
          super(...args)
          noteError(this)
        }
      },
  )
  return { ...original, AgentAuthError }
})

vi.mock('../../src/config.ts', async (importOriginal) => {
  const original = await importOriginal<typeof import('../../src/config.ts')>()
  type Create = typeof original.configFrom
  const witnessed =
    (create: Create): Create =>
    (options, ...rest) => {
      // What isn't an options object is refused by the original, as is a listener that isn't one.
      if (typeof options !== 'object' || options === null) return create(options, ...rest)
      // Without a prototype, as the options that the original gets.
      const own: typeof options = Object.assign(Object.create(null), options)
      const { onEvent, fetch: injected } = own
      return create(
        Object.assign(own, {
          ...((typeof onEvent === 'function' || onEvent === undefined) && {
            onEvent(event: AuthEvent) {
              notePrinted('onEvent', [event])
              return onEvent?.(event)
            },
          }),
          // Keeps the receiver: calling fetch bare is something the library has to prove itself.
          ...(typeof injected === 'function' && {
            fetch(this: unknown, ...args: Parameters<typeof fetch>) {
              noteRequest(args[1])
              return Reflect.apply(injected, this, args)
            },
          }),
        }),
        ...rest,
      )
    }
  const { createAuthConfig, serverConfig, configFrom } = original
  const [server, page] = [witnessed(serverConfig), witnessed(configFrom)]
  return { ...original, createAuthConfig: witnessed(createAuthConfig), serverConfig: server, configFrom: page }
})

const { console: printer } = globalThis
once(printer, () => {
  for (const name of ['debug', 'dir', 'error', 'info', 'log', 'table', 'trace', 'warn'] as const) {
    const print = printer[name]
    printer[name] = (...args: unknown[]): void => {
      notePrinted(`console.${name}`, args)
      Reflect.apply(print, printer, args)
    }
  }
})

for (const name of ['stdout', 'stderr'] as const)
  once(process[name], () => {
    const write = process[name].write
    process[name].write = (...args: unknown[]): boolean => {
      const [chunk] = args
      noteText(`process.${name}`, typeof chunk === 'string' ? chunk : Buffer.from(chunk as Uint8Array).toString())
      return Reflect.apply(write, process[name], args)
    }
  })

// A failing hook fails its test.
afterEach(() => report(takeLeaks()))

/** What was made of this in this process, be it before an earlier test file. */
function once<T>(of: object, make: () => T): T {
  const slots = of as { [slot]?: { readonly made: T } }
  const { made } = slots[slot] ?? { made: make() }
  Object.defineProperty(of, slot, { value: { made }, configurable: true })
  return made
}
