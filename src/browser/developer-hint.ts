import { isLoopback } from '../config/service-url.ts'
import type { AuthConfig } from '../config.ts'
import type { AuthEvent } from '../events.ts'

/** Emits an event, and on localhost writes to the console too, because a developer looks there if no call fails. */
export function hint(config: AuthConfig, event: AuthEvent, text: string): void {
  config.emit(event)
  // biome-ignore lint/suspicious/noConsole: no call could throw this.
  if (isLoopback(globalThis.location?.hostname ?? '')) console.warn(`agent-auth: ${text}`)
}
