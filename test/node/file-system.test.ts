import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { fileStorage } from 'agent-auth/node'
import { expect, onTestFinished, test } from 'vitest'
import { freshFile } from '../support/fresh-file.ts'
import { sessionRig } from '../support/session-rig.ts'

// What fileStorage asks of the file system, and what other systems than this one respond.

/** Replaces functions of `node:fs` until the end of the test. */
function replaced(functions: Partial<typeof fs>): void {
  const names = Object.keys(functions) as (keyof typeof fs)[]
  const before = Object.fromEntries(names.map((name) => [name, fs[name]]))
  Object.assign(fs, functions)
  syncBuiltinESMExports()
  onTestFinished(() => {
    Object.assign(fs, before)
    syncBuiltinESMExports()
  })
}

const writes = ['flush of the text', 'rename to sessions.json', 'flush of the folder']

/** Notes what is brought to the disk, and which file a rename replaces. */
function watched(): string[] {
  const { fsyncSync, renameSync } = fs
  const steps: string[] = []
  replaced({
    fsyncSync(fd) {
      steps.push(fs.fstatSync(fd).isDirectory() ? 'flush of the folder' : 'flush of the text')
      fsyncSync(fd)
    },
    renameSync(from, to) {
      steps.push(`rename to ${String(to).replace(/.*\//, '')}`)
      renameSync(from, to)
    },
  })
  return steps
}

test('the text of records is on the disk before its name is, and its name at the end', async () => {
  const path = freshFile(onTestFinished)
  const steps = watched()
  await fileStorage(path).setItem('key', 'value')
  expect(steps).toEqual(writes)
})

test('the removal of the last record is on the disk, a lock shows that records can be, and leases need not be', async () => {
  const path = freshFile(onTestFinished)
  const storage = fileStorage(path)
  await storage.setItem('key', 'value')
  const steps = watched()
  await storage.removeItem('key')
  expect(steps.splice(0)).toContain('flush of the folder')
  await storage.withLock('key', async () => 'ran')
  expect(steps).toEqual(['rename to sessions.json.leases', ...writes])
})

test('a refresh sends no token while the file cannot be replaced, as one that is mounted, and ready() says so', async () => {
  const storage = fileStorage(freshFile(onTestFinished))
  const { realm, service } = sessionRig()
  const { session } = realm({ storage })
  await session.signIn(service.issue())
  const { renameSync } = fs
  replaced({
    renameSync(from, to) {
      if (String(to).endsWith('.json')) throw Object.assign(new Error('EBUSY'), { code: 'EBUSY' })
      renameSync(from, to)
    },
  })
  for (const call of [() => session.getAccessToken({ forceRefresh: true }), () => storage.ready()])
    await expect(call()).rejects.toMatchObject({ code: 'storage_failed' })
  expect(service.sent).toEqual([])
})

test('fileStorage closes every file that it opens', async () => {
  const storage = fileStorage(freshFile(onTestFinished))
  const { openSync, closeSync } = fs
  const open = new Set<number>()
  let opened = 0
  replaced({
    openSync(...given) {
      const fd = openSync(...given)
      open.add(fd)
      opened += 1
      return fd
    },
    closeSync(fd) {
      open.delete(fd)
      closeSync(fd)
    },
  })
  await storage.withLock('key', async () => storage.setItem('key', 'value'))
  expect(await storage.getItem('key')).toBe('value')
  expect({ areOpened: opened > 0, stillOpen: [...open] }).toEqual({ areOpened: true, stillOpen: [] })
})
