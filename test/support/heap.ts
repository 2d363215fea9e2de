import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Collects garbage and returns how many bytes of the heap are used. */
export function usedHeapBytes(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  // The first collection may only finish a marking in progress, which keeps all that was allocated since it began.
  collect()
  collect()
  return process.memoryUsage().heapUsed
}
