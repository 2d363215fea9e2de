import { isLoopback } from '../config/service-url.ts'
import type { AuthConfig } from '../config.ts'
import { callbackMode } from './callback-url.ts'

const reminderMs = 5_000
const reminder = 'agent-auth: this page is the callback of a login. Call ready() of createBrowserAuth to finish it.'

/**
 * Reports a callback that stays in the address because `ready()` was not called: once as an event, and on localhost on the
 * console too, since nothing else fails there. Returns how to stop that.
 */
export function remindOfCallback(config: AuthConfig): () => void {
  const isCallback = (): boolean => callbackMode(config.redirectUri, location.href) !== undefined
  if (!globalThis.document || !isCallback()) return () => {}
  const timer = setTimeout(() => {
    if (!isCallback()) return
    config.emit({ type: 'callback_unfinished' })
    // biome-ignore lint/suspicious/noConsole: a developer whose login does not end looks there, and no call could throw this.
    if (isLoopback(location.hostname)) console.warn(reminder)
  }, reminderMs)
  return () => clearTimeout(timer)
}
