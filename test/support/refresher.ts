import { createAuthConfig, createSession } from 'agent-auth'
import { connectTo } from './shared-stores.ts'
import type { StormTask } from './storm.ts'

// A process whose session is told to renew its token, and that is killed when the answer was served and not saved.
// Its connection to the storage would keep it running after the process that started it.
process.once('disconnect', () => process.exit())
const task = JSON.parse(process.argv[2] ?? '') as StormTask
const { storage } = await connectTo(task.kind, task.url, task.prefix)
const config = createAuthConfig({
  ...task.config,
  async fetch(...given) {
    await fetch(...given)
    process.send?.('served')
    return new Promise<never>(() => {})
  },
})
const session = createSession(config, { storage, key: 'person-0' })
await session.ready()
process.send?.('ready')
process.once('message', async () => {
  process.send?.(await session.getAccessToken({ forceRefresh: true }).then(() => 'renewed'))
})
