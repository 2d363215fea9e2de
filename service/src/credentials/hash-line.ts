import { availableParallelism } from 'node:os'
import { credentialLimits } from '../limits.ts'

/** One bounded line for slow hashes, each of which takes a third of a second of a processor. */
export interface HashLine {
  /**
   * Runs `work` in its turn. A hash that the service stores is `kept`: it always waits. An `attempt` returns `busy` at once if the line is
   * full, and after `refuseWaiting`.
   */
  run<Value>(kind: 'kept' | 'attempt', work: () => Promise<Value>): Promise<Value | 'busy'>
  /** Returns `busy` to every attempt that waits, so that the process can end. */
  refuseWaiting(): void
}

/** Leaves one processor, and one of the four threads of Node's pool, to other work. */
const standardAtOnce = Math.max(1, Math.min(3, availableParallelism() - 1))

export function createHashLine(atOnce: number = standardAtOnce): HashLine {
  let waiting: { kind: 'kept' | 'attempt'; begin(turn: 'go' | 'busy'): void }[] = []
  let running = 0
  let isRefusing = false

  function free(): void {
    const next = waiting.shift()
    if (next === undefined) running -= 1
    else next.begin('go')
  }
  async function turn(kind: 'kept' | 'attempt'): Promise<'go' | 'busy'> {
    if (kind === 'attempt' && (isRefusing || waiting.length >= credentialLimits.hashesWaiting)) return 'busy'
    if (running >= atOnce) return new Promise((begin) => waiting.push({ kind, begin }))
    running += 1
    return 'go'
  }
  return {
    async run(kind, work) {
      if ((await turn(kind)) === 'busy') return 'busy'
      try {
        return await work()
      } finally {
        free()
      }
    },
    refuseWaiting() {
      isRefusing = true
      const refused = waiting.filter((one) => one.kind === 'attempt')
      waiting = waiting.filter((one) => one.kind === 'kept')
      for (const { begin } of refused) begin('busy')
    },
  }
}
