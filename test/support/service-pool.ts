import { createService, type Service } from 'agent-service'
import { expect } from 'vitest'

// Services that no test uses, by their redirect URI. A reset takes less processor time than a start.
const idle = new Map<string, Service[]>()
let file: string | undefined

/**
 * Returns a service with the data of a new one. Its keys, clients and secrets may be those of an earlier test of the file. After its
 * `close` it refuses calls, as a closed service does, so that none reaches the next test.
 */
export async function lendService(redirectUri: string): Promise<Service> {
  await closeThoseOfOtherFiles()
  const kept = idle.get(redirectUri)?.pop()
  await kept?.dev.reset()
  return lent(kept ?? (await createService({ redirectUris: [redirectUri] })), redirectUri)
}

/** The last ones end with the worker. */
async function closeThoseOfOtherFiles(): Promise<void> {
  const { testPath } = expect.getState()
  if (file === testPath) return
  file = testPath
  const left = [...idle.values()].flat()
  idle.clear()
  await Promise.all(left.map((service) => service.close()))
}

function lent(service: Service, redirectUri: string): Service {
  const ownFile = file
  let state: 'open' | 'closed' = 'open'
  let running = 0
  let isReusable = true
  function requireOpen(): void {
    if (state === 'closed') throw new TypeError('fetch failed: the service is closed')
  }
  const dev = Object.entries(service.dev).map(([name, control]: [string, (...args: unknown[]) => unknown]) => {
    const guarded = (...args: unknown[]): unknown => {
      requireOpen()
      return control(...args)
    }
    return [name, guarded] as const
  })
  return {
    authUrl: service.authUrl,
    baseUrl: service.baseUrl,
    get people() {
      return service.people
    },
    get clients() {
      return service.clients
    },
    async fetch(input, init) {
      requireOpen()
      running += 1
      try {
        return await service.fetch(input, init)
      } catch (error) {
        // A request that was aborted may go on inside the service.
        isReusable = false
        throw error
      } finally {
        running -= 1
      }
    },
    dev: Object.fromEntries(dev) as unknown as Service['dev'],
    async close() {
      if (state === 'closed') return
      state = 'closed'
      if (!isReusable || running > 0 || ownFile !== file || !isOnTime(service)) return service.close()
      idle.set(redirectUri, [...(idle.get(redirectUri) ?? []), service])
    },
  }
}

/** Whether the clock of the service was neither moved nor stopped. A reset does not put it back. */
function isOnTime({ dev }: Service): boolean {
  const beforeMs = Date.now()
  const nowMs = dev.nowMs()
  return dev.clockState() === 'running' && beforeMs <= nowMs && nowMs <= Date.now()
}
