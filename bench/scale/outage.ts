import { line } from '../backend/rounds.ts'
import { saveResults } from './results.ts'
import { type Outcome, outcomeOf, scenarios } from './scenarios.ts'

const sessions = 1_000_000
const targets = { peak: 3, servedAfterS: 120 }

/** Draws random numbers for many calls at once, because a call for one number takes most of the time of a simulation. */
function drawInAdvance(): void {
  const pool = new Uint32Array(16_384)
  let next = pool.length
  const draw = crypto.getRandomValues.bind(crypto)
  const fromPool = (array: Uint32Array<ArrayBuffer>): Uint32Array => {
    if (!(array instanceof Uint32Array) || array.length !== 1) return draw(array)
    if (next === pool.length) {
      draw(pool)
      next = 0
    }
    array[0] = pool[next++] as number
    return array
  }
  crypto.getRandomValues = fromPool as typeof crypto.getRandomValues
}

/** What a million sessions send to the token endpoint after ten minutes of outage, and after a restart of all processes. */
export async function outage(): Promise<boolean> {
  drawInAdvance()
  const outcomes = scenarios.map((scenario) => {
    const outcome = outcomeOf(scenario, sessions)
    line(`${outcome.title}: `, told(outcome))
    return outcome
  })
  saveResults({ outage: { sessions, outcomes } })
  return outcomes.every(isMet)
}

function isMet({ peak, laterPeak, servedAfterS }: Outcome): boolean {
  return Math.max(peak, laterPeak) <= targets.peak && servedAfterS <= targets.servedAfterS
}

function told(outcome: Outcome): string {
  const { steadyPerS, peak, peakInOutage, laterPeak, lowestPeak, lowestForWait, servedAfterS } = outcome
  return [
    `${steadyPerS.toLocaleString('en')}/s, then ${peak} x at most (${peakInOutage} x before, ${laterPeak} x later)`,
    ...(lowestForWait > 0 ? [`the last may send after ${servedAfterS} s, which needs ${lowestForWait} x`] : []),
    isMet(outcome) ? 'pass' : `MISSED${lowestPeak > targets.peak ? `, bound: ${lowestPeak} x for two minutes` : ''}`,
  ].join('; ')
}
