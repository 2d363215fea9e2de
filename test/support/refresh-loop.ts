import { createAuthConfig, createSession } from 'agent-auth'
import { connectTo } from './shared-stores.ts'
import type { StormTask } from './storm.ts'

// A process whose session refreshes without a pause, until it is killed. It says how each refresh ended.
const [text = '', key = '', aheadMs = '0'] = process.argv.slice(2)
const task = JSON.parse(text) as StormTask
const { now } = Date
Date.now = () => now() + Number(aheadMs)
const { storage } = await connectTo(task.kind, task.url, task.prefix)
const session = createSession(createAuthConfig(task.config), { storage, key })
for (;;) {
  const outcome = await session.getAccessToken({ forceRefresh: true }).then(
    () => 'refreshed',
    (error: { code?: string }) => error.code ?? String(error),
  )
  process.send?.(outcome)
}
