import { indexedDbStorage } from 'agent-auth/browser'
import { serveAuth } from 'agent-auth/browser/worker'
import type { PageConfig } from './kinds.ts'

// The worker of the isolated test app. What serves it sets the configuration before it.

export interface IsolatedConfig extends PageConfig {
  readonly kind: 'memory' | 'indexed'
}

const { config } = globalThis as unknown as { config: IsolatedConfig }
const { kind, ...options } = config
serveAuth({
  ...options,
  redirectUri: `${location.origin}/${kind}/callback`,
  storage: kind === 'indexed' ? indexedDbStorage() : undefined,
})
