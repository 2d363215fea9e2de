import { type Figure, median, type Size } from '../figures.ts'

const rounds = { whole: 41, short: 3 }

interface Compared {
  readonly name: string
  readonly hand: () => Promise<void>
  readonly bearer: () => Promise<void>
  /** Of one round. */
  readonly calls: number
  readonly target: number
  readonly size: Size
}

/** Runs both by turns and gives the median of each in processor time, which other work on the machine changes least. */
export async function compare({ name, hand, bearer, calls, target, size }: Compared): Promise<Figure> {
  const times = { hand: [] as number[], bearer: [] as number[] }
  for (let round = size === 'whole' ? -5 : 0; round < rounds[size]; round++) {
    // Each comes first in every second round: garbage of the one is collected in the other's time.
    const order = round % 2 ? (['hand', 'bearer'] as const) : (['bearer', 'hand'] as const)
    for (const which of order) {
      const microseconds = await processorTime(which === 'hand' ? hand : bearer)
      if (round >= 0) times[which].push(microseconds / calls)
    }
  }
  return {
    name: `call, ${name}`,
    value: median(times.bearer),
    unit: 'µs of CPU',
    peers: { 'by hand': median(times.hand) },
    target: { most: target, of: 'by hand' },
  }
}

async function processorTime(round: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage()
  await round()
  const { user, system } = process.cpuUsage(before)
  return user + system
}
