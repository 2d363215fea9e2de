import { chownSync, existsSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileStorage } from 'agent-auth/node'
import { expect, onTestFinished, test, vi } from 'vitest'
import { maxFilePauseMs, staleFileMs } from '../../src/node/replace-file.ts'
import { leaseMs } from '../../src/storage/shared/lease.ts'
import { freshFile } from '../support/fresh-file.ts'
import { turn } from '../support/one-session.ts'
import { codeOf } from '../support/session-rig.ts'

/** A file with a record, and what other processes do with its files. */
async function written() {
  const path = freshFile(onTestFinished)
  const storage = fileStorage(path)
  await storage.setItem('key', 'value')
  const mode = 0o600
  return {
    path,
    storage,
    lockFile: {
      create: () => writeFileSync(`${path}.lock`, '', { mode }),
      remove: () => unlinkSync(`${path}.lock`),
      isThere: () => existsSync(`${path}.lock`),
    },
    leaseOf: (owner: unknown, renewals: unknown = 0) =>
      writeFileSync(`${path}.leases`, JSON.stringify({ key: { owner, renewals } }), { mode }),
    leases: () => JSON.parse(readFileSync(`${path}.leases`, 'utf8')),
    write: (value: string) => writeFileSync(path, JSON.stringify({ v: 1, records: { key: value } }), { mode }),
  }
}

/** Timers that only the test lets pass. The file system and the monotonic clock go on. */
function holdTimers(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
}

/** A monotonic clock that only the test moves. */
function heldClock(): { nowMs: number } {
  const clock = { nowMs: 0 }
  const spy = vi.spyOn(performance, 'now').mockImplementation(() => clock.nowMs)
  onTestFinished(() => spy.mockRestore())
  return clock
}

const nextOwner = { key: expect.objectContaining({ owner: 'the next owner' }) }

/** A call that waits for the lock of another process, with timers and a clock that only the test moves. */
async function waitingForLease() {
  const { storage, leaseOf } = await written()
  holdTimers()
  const clock = heldClock()
  leaseOf('the other owner')
  const ran = vi.fn(async () => {})
  void storage.withLock('key', ran)
  const pass = async (ms: number): Promise<void> => {
    clock.nowMs += ms
    await vi.advanceTimersByTimeAsync(1_000)
  }
  await pass(0)
  return { leaseOf, ran, pass }
}

test('a lease that its owner does not renew for 8 s is free', async () => {
  const { ran, pass } = await waitingForLease()
  await pass(leaseMs)
  expect(ran).not.toHaveBeenCalled()
  await pass(1)
  expect(ran).toHaveBeenCalledOnce()
})

test('a lease that its owner renews is held, however long that takes', async () => {
  const { leaseOf, ran, pass } = await waitingForLease()
  for (const renewals of [1, 2, 3, 4]) {
    await pass(leaseMs)
    leaseOf('the other owner', renewals)
    await pass(1)
  }
  expect(ran).not.toHaveBeenCalled()
})

test('a clock of the machine that is set forward 2 years gives the lock of a process to no other', async () => {
  const { path, storage } = await written()
  const now = Date.now
  const clock = vi.spyOn(Date, 'now')
  onTestFinished(() => clock.mockRestore())
  await storage.withLock('key', async () => {
    const signal = AbortSignal.timeout(300)
    const other = fileStorage(path).withLock('key', async () => 'ran', { signal })
    // By then the other storage has seen the lease.
    await turn()
    clock.mockImplementation(() => now() + 63_072_000_000)
    await expect(other).rejects.toMatchObject({ name: 'TimeoutError' })
  })
})

test('a lease that another process takes while this one waits for the lock file is not taken over', async () => {
  const { storage, lockFile, leaseOf, leases } = await written()
  lockFile.create()
  const signal = AbortSignal.timeout(500)
  const locked = codeOf(storage.withLock('key', async () => 'ran', { signal }))
  // By then this process has seen that the lease is free, and waits for the lock file.
  await turn()
  leaseOf('the next owner')
  lockFile.remove()
  expect(await locked).not.toHaveProperty('resolved')
  expect(leases()).toEqual(nextOwner)
})

/** A write that waits for a lock file of another process, with timers and a clock that only the test moves. */
async function writeBehindLockFile() {
  const { storage, lockFile } = await written()
  holdTimers()
  const clock = heldClock()
  lockFile.create()
  const settled = vi.fn()
  void codeOf(storage.setItem('key', 'new')).then(settled)
  return { lockFile, clock, settled }
}

test('a lock file that does not change is left alone for 1.5 s, and taken over by the next try after that', async () => {
  const { lockFile, clock, settled } = await writeBehindLockFile()
  await vi.advanceTimersByTimeAsync(maxFilePauseMs)
  clock.nowMs = staleFileMs
  await vi.advanceTimersByTimeAsync(maxFilePauseMs)
  expect({ isThere: lockFile.isThere(), outcomes: settled.mock.calls }).toEqual({ isThere: true, outcomes: [] })
  clock.nowMs += 1
  await vi.advanceTimersByTimeAsync(maxFilePauseMs)
  expect(settled).toHaveBeenCalledWith({ resolved: undefined })
})

test('a lock file that cannot be created is an error at once, with the code of the system', async () => {
  const storage = fileStorage(`${freshFile(onTestFinished)}${'x'.repeat(300)}`)
  await expect(storage.setItem('key', 'x')).rejects.toMatchObject({
    message: expect.stringContaining('(ENAMETOOLONG)'),
  })
})

test.runIf(process.getuid?.() === 0)('a folder of another user is refused', async () => {
  const { path, storage } = await written()
  chownSync(dirname(path), 12_345, 12_345)
  await expect(storage.setItem('key', 'x')).rejects.toMatchObject({
    code: 'storage_failed',
    message: expect.stringContaining('The folder private of the storage can be changed by other users'),
  })
})

test.runIf(process.getuid?.() === 0)('a folder that belongs to root is accepted', async () => {
  const path = freshFile(onTestFinished)
  mkdirSync(dirname(path), { mode: 0o700 })
  const user = vi.spyOn(process, 'geteuid').mockReturnValue(12_345)
  onTestFinished(() => user.mockRestore())
  expect(await codeOf(fileStorage(path).setItem('key', 'value'))).toEqual({ resolved: undefined })
})
