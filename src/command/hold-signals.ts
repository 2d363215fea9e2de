import { constants } from 'node:os'
import type { SharedStorage } from '../storage/shared/leased-storage.ts'

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/** Within this time, in milliseconds, signals count as one: npx and timeout send each twice. */
const oneSignalMs = 500

/**
 * Returns the storage with a lock that a signal does not break: the process ends when the lock is free. A refresh under it has used its
 * refresh token, so without the save the user would be signed out. A second signal ends the process at once.
 */
export function holdSignals(storage: SharedStorage): SharedStorage {
  return {
    ...storage,
    async withLock(name, task, options) {
      let received: NodeJS.Signals | undefined
      const letThrough = (): void => signals.forEach((each) => void process.off(each, hold))
      const hold = (signal: NodeJS.Signals): void => {
        received = signal
        setTimeout(letThrough, oneSignalMs)
      }
      const holding = (): ReturnType<typeof task> => {
        for (const each of signals) process.on(each, hold)
        return task()
      }
      try {
        return await storage.withLock(name, holding, options)
      } finally {
        letThrough()
        // Before the caller goes on, so that it prints nothing and sends no request.
        if (received) process.exit(128 + constants.signals[received])
      }
    },
  }
}
