import { beforeEach, describe, expect, test } from 'vitest'
import { AgentAuthError, type AgentAuthErrorCode } from '../../src/errors.ts'
import { bounded, runLocked, storageErrorOf } from '../../src/storage/lock.ts'
import { memoryStorage } from '../../src/storage/memory.ts'
import type { TokenStorage } from '../../src/storage/token-storage.ts'
import { codeOf } from '../support/session-rig.ts'
import { flush, type VirtualTime, virtualTime } from '../support/virtual-time.ts'

let time: VirtualTime
beforeEach(() => {
  time = virtualTime()
})

const never = new Promise<never>(() => {})

describe('an operation of a storage', () => {
  test('that takes longer than 5 s is storage_failed', async () => {
    expect(await time.until(codeOf(bounded(() => never)))).toBe('storage_failed')
    expect(time.nowMs()).toBe(5_000)
  })

  test.each<AgentAuthErrorCode>(['storage_failed', 'config_invalid'])('keeps its own %s', (code) => {
    const error = new AgentAuthError(code, 'It says more.')
    expect(storageErrorOf(error)).toBe(error)
  })

  test.each<[string, unknown]>([
    ['another error of this library', new AgentAuthError('timeout', 'the record')],
    ['a foreign error', Object.assign(new Error('the record'), { code: 'storage_failed' })],
    ['undefined', undefined],
  ])('has %s replaced by a storage_failed that can be tried again', (_, thrown) => {
    const error = storageErrorOf(thrown)
    expect(error).toMatchObject({ code: 'storage_failed', retryable: true })
    expect(error.message).not.toContain('the record')
  })
})

describe('a task under the lock of a storage', () => {
  type WithLock = NonNullable<TokenStorage['withLock']>
  type Task = () => Promise<unknown>

  const run = <T>(
    withLock: (name: string, task: Task, signal?: AbortSignal) => Promise<unknown>,
    task: () => Promise<T>,
  ) =>
    runLocked(
      {
        ...memoryStorage(),
        withLock: ((name, inner, options) => withLock(name, inner, options?.signal)) as WithLock,
      },
      'name',
      task,
      { maxWaitMs: 1_000, timedOut: () => new AgentAuthError('lock_timeout', 'It took long.') },
    )

  test('runs once under the name, and its result comes when the lock is released', async () => {
    const order: unknown[] = []
    const result = await run(
      async (name, task) => {
        order.push(name)
        await task()
        order.push('released')
      },
      async () => order.push('ran'),
    )
    expect(result).toBe(2)
    expect(order).toEqual(['name', 'ran', 'released'])
  })

  test('never runs if the lock comes after the wait, of which the storage is told', async () => {
    let lateTask: Task = async () => {}
    let signal: AbortSignal | undefined
    const work = run(
      (_, task, given) => {
        lateTask = task
        signal = given
        return never
      },
      () => expect.unreachable('it ran'),
    )
    expect(signal?.aborted).toBe(false)
    expect(await time.until(codeOf(work))).toBe('lock_timeout')
    expect(time.nowMs()).toBe(1_000)
    expect(signal?.aborted).toBe(true)
    await lateTask()
  })

  test.each<[string, () => Promise<never>]>([
    ['rejects', () => Promise.reject(new Error('the record'))],
    [
      'throws',
      () => {
        throw new Error('the record')
      },
    ],
  ])('a lock that %s before the task runs is storage_failed', async (_, withLock) => {
    expect(await codeOf(run(withLock, () => expect.unreachable('it ran')))).toBe('storage_failed')
  })

  test('a lock that fails with an error of this library keeps it', async () => {
    const error = new AgentAuthError('storage_failed', 'It says more.')
    await expect(
      run(
        () => Promise.reject(error),
        () => expect.unreachable('it ran'),
      ),
    ).rejects.toBe(error)
  })

  test('a lock that ends without the task is storage_failed', async () => {
    expect(
      await codeOf(
        run(
          async () => {},
          () => expect.unreachable('it ran'),
        ),
      ),
    ).toBe('storage_failed')
  })

  test('the result counts, even if the lock is lost while the task runs', async () => {
    let end = (_: string): void => {}
    const work = run(
      async (_, task) => {
        void task()
        throw new Error('lost')
      },
      () =>
        new Promise<string>((resolve) => {
          end = resolve
        }),
    )
    await flush()
    end('result')
    expect(await work).toBe('result')
  })

  test('the result comes after 5 s, even if the lock is never released', async () => {
    const work = run(
      (_, task) => task().then(() => never),
      async () => 'result',
    )
    expect(await time.until(work)).toBe('result')
    expect(time.nowMs()).toBe(5_000)
  })
})
