import { fileKills } from '../support/file-kills.ts'
import { freshFile } from '../support/fresh-file.ts'
import { isFaultless, storm } from '../support/storm.ts'
import type { Soak } from './index.ts'

type Size = Parameters<Soak['run']>[0]

/** One session in one file expires in eight processes at once: one refresh each time, and every request is served. */
export function soakFileStorms({ rounds, onRound }: Size): Promise<string> {
  return withEnds(async (ends) => {
    const size = { processes: 8, sessions: 1, requests: 50, callsAtOnce: 1 } as const
    const url = freshFile((end) => ends.push(end))
    const seen = await storm((end) => ends.push(end), { kind: 'file', url, ...size, rounds, onRound })
    const wrong = seen.filter((round) => !isFaultless(round, size))
    if (wrong.length > 0) throw new Error(`${wrong.length} rounds with a fault: ${JSON.stringify(wrong.slice(0, 5))}`)
    return `${seen.length} rounds, one refresh in each, no failed request`
  })
}

/** Kills at random times. With a grace period no session may be lost, and without one the rate is printed. */
export function soakFileKills(service: 'grace' | 'no grace', { rounds, onRound }: Size): Promise<string> {
  return withEnds(async (ends) => {
    const size = {
      lanes: 8,
      sessions: 1,
      kills: rounds,
      onKill: onRound,
      ...(service === 'no grace' && { graceMs: 0 }),
    }
    const { kills, lost, missing, torn, failures } = await fileKills((end) => ends.push(end), size)
    const said = `${kills} kills, ${torn} damaged files, ${missing} missing records, ${lost} lost sessions, retried failures ${JSON.stringify(failures)}`
    if (missing > 0 || torn > 0 || (service === 'grace' && lost > 0)) throw new Error(said)
    return said
  })
}

async function withEnds(run: (ends: (() => void | Promise<void>)[]) => Promise<string>): Promise<string> {
  const ends: (() => void | Promise<void>)[] = []
  try {
    return await run(ends)
  } finally {
    for (const end of ends.reverse()) await end()
  }
}
