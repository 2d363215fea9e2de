import { deferred, sleep } from '../internal/timeouts.ts'
import type { TokenStorage } from '../storage/token-storage.ts'
import { type Checks, recordKey, refused, same } from './case.ts'

type WithLock = NonNullable<TokenStorage['withLock']>

export const lockChecks: Checks = {
  'loses no update of fifty turns behind one lock': async (handle) => {
    const storages = [await handle(), await handle(), await handle()]
    const turn = async (storage: TokenStorage): Promise<void> =>
      lockOf(storage)(recordKey, async () => {
        const count = Number((await storage.getItem(recordKey)) ?? 0)
        await sleep(0)
        await storage.setItem(recordKey, String(count + 1))
      })
    await Promise.all(Array.from({ length: 50 }, (_, index) => turn(storages[index % 3] as TokenStorage)))
    same('the count', Number(await storages[0]?.getItem(recordKey)), 50)
  },
  'runs a task once and passes on what it gives': async (handle) => {
    let runs = 0
    const given = await lockOf(await handle())(recordKey, async () => ({ runs: ++runs }))
    same('the result', given, { runs: 1 })
    same('runs of the task', runs, 1)
  },
  'passes on what a task throws and is free afterwards': async (handle) => {
    const [one, two] = [lockOf(await handle()), lockOf(await handle())]
    const failure = new Error('The task failed.')
    const seen = await one(recordKey, () => Promise.reject(failure)).catch((error: unknown) => error)
    same('the error of the task', seen === failure, true)
    same('the next task', await two(recordKey, async () => 'ran'), 'ran')
  },
  'keeps other names free': async (handle) => {
    const [one, two] = [lockOf(await handle()), lockOf(await handle())]
    same('both names', await one(recordKey, () => two(`${recordKey}2`, async () => 'held')), 'held')
  },
  'runs nothing for a waiter whose signal fires, but for those behind it': async (handle) => {
    const locks = [lockOf(await handle()), lockOf(await handle()), lockOf(await handle())] as const
    const ran: string[] = []
    const { holding, release } = await hold(locks[0], ran)
    const stop = new AbortController()
    const waiting = locks[1](recordKey, async () => void ran.push('given up'), { signal: stop.signal })
    const last = locks[2](recordKey, async () => void ran.push('last'))
    await sleep(20)
    stop.abort()
    await refused('the waiter that gave up', waiting)
    await sleep(20)
    release()
    await Promise.all([holding, last])
    await sleep(20)
    same('the tasks that ran', ran, ['holder', 'last'])
  },
  'runs nothing when the signal fired before': async (handle) => {
    const one = lockOf(await handle())
    const ran: string[] = []
    await refused(
      'the call',
      one(recordKey, async () => void ran.push('ran'), { signal: AbortSignal.abort() }),
    )
    same('the tasks that ran', ran, [])
    same('the next task', await one(recordKey, async () => 'ran'), 'ran')
  },
  'stays locked when the signal fires once the lock was had': async (handle) => {
    const [one, two] = [lockOf(await handle()), lockOf(await handle())]
    const stop = new AbortController()
    const order: string[] = []
    let second: Promise<void> | undefined
    const task = async (): Promise<void> => {
      second = two(recordKey, async () => void order.push('second'))
      stop.abort()
      await sleep(50)
      order.push('first')
    }
    await one(recordKey, task, { signal: stop.signal })
    await second
    same('the order', order, ['first', 'second'])
  },
  'lets a holder write, for all to see': async (handle) => {
    const [one, two] = [await handle(), await handle()]
    await lockOf(one)(recordKey, async () => {
      await one.setItem(recordKey, 'by the holder')
      await one.setItem('agent-auth:other', 'by the holder too')
    })
    same('the record of the name', await two.getItem(recordKey), 'by the holder')
    same('another record', await two.getItem('agent-auth:other'), 'by the holder too')
    await lockOf(two)(recordKey, async () => two.removeItem(recordKey))
    same('the record removed by a holder', await one.getItem(recordKey), null)
  },
}

function lockOf(storage: TokenStorage): WithLock {
  return async (name, task, options) => {
    if (!storage.withLock) throw new Error('This storage has no withLock. If one page or process is all: lock: "none".')
    return storage.withLock(name, task, options)
  }
}

/** Holds the lock until it is released. */
async function hold(lock: WithLock, ran: string[]): Promise<{ holding: Promise<void>; release: () => void }> {
  const [inside, end] = [deferred<void>(), deferred<void>()]
  const holding = lock(recordKey, async () => {
    ran.push('holder')
    inside.resolve()
    await end.promise
  })
  // If the lock rejects, the check must not wait.
  await Promise.race([inside.promise, holding])
  return { holding, release: () => end.resolve() }
}
