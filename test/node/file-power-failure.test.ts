import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { fileStorage } from 'agent-auth/node'
import { expect, onTestFinished, test } from 'vitest'
import { freshFile } from '../support/fresh-file.ts'

/** Notes what is brought to the disk, and which file a rename replaces. */
function watched(): string[] {
  const { fsyncSync, renameSync } = fs
  const steps: string[] = []
  fs.fsyncSync = (fd) => {
    steps.push(fs.fstatSync(fd).isDirectory() ? 'flush of the folder' : 'flush of the text')
    fsyncSync(fd)
  }
  fs.renameSync = (from, to) => {
    steps.push(`rename to ${String(to).replace(/.*\//, '')}`)
    renameSync(from, to)
  }
  syncBuiltinESMExports()
  onTestFinished(() => {
    Object.assign(fs, { fsyncSync, renameSync })
    syncBuiltinESMExports()
  })
  return steps
}

test('the text of records is on the disk before its name is, and its name at the end [C-056]', async () => {
  const path = freshFile(onTestFinished)
  const steps = watched()
  await fileStorage(path).setItem('key', 'value')
  expect(steps).toEqual(['flush of the text', 'rename to sessions.json', 'flush of the folder'])
})

test('the removal of the last record is on the disk, and leases need not be [C-056]', async () => {
  const path = freshFile(onTestFinished)
  const storage = fileStorage(path)
  await storage.setItem('key', 'value')
  const steps = watched()
  await storage.removeItem('key')
  expect(steps.splice(0)).toContain('flush of the folder')
  await storage.withLock('key', async () => 'ran')
  expect(steps).toEqual(['rename to sessions.json.leases'])
})
