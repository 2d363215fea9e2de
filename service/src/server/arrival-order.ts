// A test of the application may replace the global one.
import { setImmediate } from 'node:timers'

/**
 * Returns a function that waits until a request of one server may begin. They begin in the order of their arrival, one in each turn of
 * the event loop. A turn accepts one new connection, and reads all that are open. If it handled all that it reads, a new connection
 * would wait for many requests of the open ones while the service is overloaded.
 */
export function arrivalOrder(): () => Promise<void> {
  const waiting: (() => void)[] = []
  function beginNext(): void {
    waiting.shift()?.()
    if (waiting.length > 0) setImmediate(beginNext)
  }
  return () =>
    new Promise((begin) => {
      waiting.push(begin)
      // The next turn reads the connection again, and so learns that a client has closed it.
      if (waiting.length === 1) setImmediate(() => setImmediate(beginNext))
    })
}
