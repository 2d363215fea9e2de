import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { type AtEnd, nextWord, startChild } from '../support/children.ts'
import { databaseOfFile } from '../support/database-of-file.ts'
import { freshFile } from '../support/fresh-file.ts'
import { serverUrl } from '../support/servers-client.ts'
import { connectTo, type StoreKind } from '../support/shared-stores.ts'

const database = databaseOfFile()

const kinds = ['redis', 'postgres', 'file'] as const

async function urlOf(kind: StoreKind, atEnd: AtEnd): Promise<string> {
  if (kind === 'file') return freshFile(atEnd)
  return kind === 'redis' ? serverUrl('redis') : database.url
}

/** Another process that holds the lock, and a storage here over the same records. */
async function heldElsewhere(kind: (typeof kinds)[number], atEnd: AtEnd) {
  const [name, prefix] = [randomUUID(), randomUUID()]
  const url = await urlOf(kind, atEnd)
  const { storage, close } = await connectTo(kind, url, prefix)
  atEnd(close)
  await storage.setItem(name, 'before')
  const child = await startChild(atEnd, 'lock-holder.ts', [kind, url, prefix, name])
  expect(await nextWord(child)).toBe('holds')
  return { name, storage, child }
}

// Leases are real time: the tests wait for them side by side.
for (const kind of kinds)
  describe.concurrent(`${kind}: a lock that another process holds`, { tags: kind === 'file' ? [] : [kind] }, () => {
    test('is free 8 s after its process was killed, at most', async ({ expect, onTestFinished }) => {
      const { name, storage, child } = await heldElsewhere(kind, onTestFinished)
      child.kill('SIGKILL')
      const startMs = performance.now()
      await storage.withLock(name, async () => storage.setItem(name, 'after'))
      const tookMs = performance.now() - startMs
      // It was renewed 2 s before at most, and twice as long would be another lease.
      expect(tookMs).toBeGreaterThan(2_000)
      expect(tookMs).toBeLessThan(14_000)
      expect(await storage.getItem(name)).toBe('after')
    })

    test('is not taken over while its process is alive, however long it holds', async ({ expect, onTestFinished }) => {
      const { name, storage, child } = await heldElsewhere(kind, onTestFinished)
      const giveUp = AbortSignal.timeout(10_000)
      const waiting = storage.withLock(name, async () => 'ran', { signal: giveUp })
      await expect(waiting).rejects.toMatchObject({ name: 'TimeoutError' })
      const said = nextWord(child)
      child.send('go')
      expect(await said).toBe('written')
      expect(await storage.withLock(name, async () => storage.getItem(name))).toBe('by the child')
    })

    test('is taken over if its process is paused past the lease, whose late write is refused and leaves the new lock alone', async ({
      expect,
      onTestFinished,
    }) => {
      const { name, storage, child } = await heldElsewhere(kind, onTestFinished)
      child.kill('SIGSTOP')
      await storage.withLock(name, async () => {
        await storage.setItem(name, 'by the next holder')
        const said = nextWord(child)
        child.kill('SIGCONT')
        child.send('go')
        expect(await said).toBe('storage_failed')
        expect(await storage.getItem(name)).toBe('by the next holder')
        await storage.setItem(name, 'still the holder')
      })
      expect(await storage.getItem(name)).toBe('still the holder')
    })
  })
