import { createAuthConfig, createSession } from 'agent-auth'
import { connectTo } from './shared-stores.ts'
import type { StormTask } from './storm.ts'

/** What the process says of each refresh. */
export interface RefreshWord {
  readonly key: string
  /** `refreshed`, or the code of the failure. */
  readonly outcome: string
}

// A process whose sessions refresh without a pause, until it is killed. It says how each refresh ended.
const [text = '', aheadMs = '0'] = process.argv.slice(2)
const task = JSON.parse(text) as StormTask
const { now } = Date
Date.now = () => now() + Number(aheadMs)
const { storage } = await connectTo(task.kind, task.url, task.prefix)
const config = createAuthConfig(task.config)

async function refreshForEver(key: string): Promise<never> {
  const session = createSession(config, { storage, key })
  for (;;) {
    const outcome = await session.getAccessToken({ forceRefresh: true }).then(
      () => 'refreshed',
      (error: { code?: string }) => error.code ?? String(error),
    )
    process.send?.({ key, outcome } satisfies RefreshWord)
  }
}

await Promise.all(Array.from({ length: task.sessions }, (_, index) => refreshForEver(`person-${index}`)))
