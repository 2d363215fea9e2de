import { proxyQueueLimits } from '../../internal/limits.ts'
import { once } from '../once.ts'

/** Why a request does not begin: too many wait already (429), it waited too long (503), or its browser left. routes/proxy.ts responds. */
export type QueueRefusal = 'full' | 'late' | 'left'

/** The proxied requests of one session: those in progress, and those that wait in the order in which they came. */
export interface RequestQueue {
  /**
   * Waits until the request may begin. Resolves to a function that ends it, of which only the first call counts. `onWait` is called
   * if it has to wait.
   */
  begin(signal: AbortSignal, onWait: () => void): Promise<(() => void) | QueueRefusal>
}

/**
 * Creates the queue of one session, in one process. Some requests run (`maxAtOnce`, 32), others wait (`maxWaiting`, 480), and one
 * that waits too long is refused (`maxWaitMs`, 30 s). Sessions do not wait for each other.
 */
export function requestQueue(): RequestQueue {
  const { maxAtOnce, maxWaiting, maxWaitMs } = proxyQueueLimits
  let inProgress = 0
  const waiting = new Set<() => void>()

  function start(): () => void {
    inProgress++
    return once(() => {
      inProgress--
      const [next] = waiting
      next?.()
    })
  }

  return {
    async begin(signal, onWait) {
      // A request that ends starts the next one at once, so none waits while there is room.
      if (inProgress < maxAtOnce) return start()
      if (signal.aborted) return 'left'
      if (waiting.size >= maxWaiting) return 'full'
      onWait()
      return new Promise((resolve) => {
        const settle = (result: (() => void) | QueueRefusal): void => {
          clearTimeout(timer)
          signal.removeEventListener('abort', leave)
          waiting.delete(go)
          resolve(result)
        }
        const go = (): void => settle(start())
        const leave = (): void => settle('left')
        const timer = setTimeout(() => settle('late'), maxWaitMs)
        signal.addEventListener('abort', leave)
        waiting.add(go)
      })
    },
  }
}
