import { isFaultless, playRounds, withScene } from '../../bench/tabs.ts'
import type { Soak } from './index.ts'

/** Tabs that find their token expired at once, against rotation without grace: one refresh a round, one token, nothing lost. */
export function soakTabs(count: number, { rounds, onRound }: Parameters<Soak['run']>[0]): Promise<string> {
  return withScene(async (scene) => {
    for (const [index, kind] of (['open', 'restored'] as const).entries()) {
      const tell = (round: number): void => onRound(index * rounds + round, 2 * rounds)
      const seen = await playRounds(scene, { kind, count, rounds, onRound: tell })
      const wrong = seen.filter((round) => !isFaultless(round))
      if (wrong.length > 0)
        throw new Error(`${wrong.length} rounds with a fault, tabs ${kind}: ${JSON.stringify(wrong.slice(0, 5))}`)
    }
    return `${rounds} rounds with open tabs and ${rounds} with reopened ones, one refresh and one token in each, nothing lost`
  })
}
