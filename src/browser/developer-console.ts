import type { AuthEvent } from '../events.ts'
import { isLoopback } from '../service-url.ts'

/** Returns the listener of a developer's page without `onEvent`: it writes once to the console what no call can throw. */
export function consoleListener(): ((event: AuthEvent) => void) | undefined {
  if (!isLoopback(globalThis.location?.hostname ?? '')) return undefined
  const said = new Set<string>()
  return (event) => {
    if (said.has(event.type)) return
    if (event.type === 'sent_without_token') warn(`${event.origin} gets no token, because it is not baseUrl.`)
    else if (event.type === 'storage_degraded')
      warn(
        `the storage cannot be used (${event.reason}): a reload may sign the user out. Allow site data for this page.`,
      )
    else return
    said.add(event.type)
  }
}

/** Returns a `fetch` that writes to the console of a developer's page once why a browser refuses the API's responses. */
export function reportRefusals(given: typeof fetch | undefined): typeof fetch | undefined {
  if (!isLoopback(globalThis.location?.hostname ?? '')) return given
  let isSaid = false
  return async (input, init) => {
    try {
      return await (given ?? fetch)(input, init)
    } catch (error) {
      if (!isSaid && error instanceof TypeError)
        warn(
          `a request got no response. If the server runs, it must allow ${location.origin} and authorization by CORS.`,
        )
      isSaid ||= error instanceof TypeError
      throw error
    }
  }
}

function warn(text: string): void {
  // biome-ignore lint/suspicious/noConsole: no call could throw this.
  console.warn(`agent-auth: ${text}`)
}
