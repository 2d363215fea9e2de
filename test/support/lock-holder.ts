import { isAgentAuthError } from 'agent-auth'
import { connectTo, type StoreKind } from './shared-stores.ts'

// A process of its own that holds a lock, writes when it is told to, and says what became of the write.
// Its connection to the storage would keep it running after the process that started it.
process.once('disconnect', () => process.exit())
const [kind = '', url = '', prefix = '', name = ''] = process.argv.slice(2)
const { storage, close } = await connectTo(kind as StoreKind, url, prefix)
const told = new Promise<void>((resolve) => process.once('message', () => resolve()))

const written = storage.withLock(name, async () => {
  process.send?.('holds')
  await told
  await storage.setItem(name, 'by the child')
})
const outcome = await written.then(
  () => 'written',
  (error: unknown) => (isAgentAuthError(error) ? error.code : String(error)),
)
process.send?.(outcome)
await close()
process.disconnect()
