import { assemble } from '../../service/src/server/create-service.ts'
import { timingContests } from '../../service/test/support/timing.ts'
import type { Soak } from './index.ts'

const mostApart = 0.05
const leastProbability = 0.01

/** Medians within 5 %, and samples that a Kolmogorov-Smirnov test cannot tell apart. Wants a machine without other work. */
export async function soakTimings({ rounds, onRound }: Parameters<Soak['run']>[0]): Promise<string> {
  const held: string[] = []
  for (const [index, { name, run }] of timingContests.entries()) {
    const { medianRatio, ksProbability } = await run(rounds, () => assemble({}))
    const measured = `${name}: medians ${medianRatio.toFixed(3)}, KS p ${ksProbability.toFixed(3)}`
    if (Math.abs(medianRatio - 1) > mostApart || ksProbability < leastProbability) throw new Error(measured)
    held.push(measured)
    onRound(Math.round((rounds * (index + 1)) / timingContests.length))
  }
  return held.join('; ')
}
