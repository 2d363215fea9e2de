const rounds = 41

interface Rounds {
  readonly hand: () => Promise<void>
  readonly bearer: () => Promise<void>
}

/** Runs both by turns and prints the median of each in processor time, which other work on the machine changes least. */
export async function compare(name: string, { hand, bearer }: Rounds, calls: number, target: number): Promise<boolean> {
  const times: Record<keyof Rounds, number[]> = { hand: [], bearer: [] }
  for (let round = -5; round < rounds; round++) {
    // Each comes first in every second round: garbage of the one is collected in the other's time.
    const order = round % 2 ? (['hand', 'bearer'] as const) : (['bearer', 'hand'] as const)
    for (const which of order) {
      const microseconds = await processorTime(which === 'hand' ? hand : bearer)
      if (round >= 0) times[which].push(microseconds / calls)
    }
  }
  const [byHand, library] = [median(times.hand), median(times.bearer)]
  const ratio = library / byHand
  process.stdout.write(
    `${name.padEnd(30)} by hand ${shown(byHand)}, bearer fetch ${shown(library)}: ${ratio.toFixed(2)} x, target at most ${target} x: ${ratio <= target ? 'pass' : 'MISSED'}\n`,
  )
  return ratio <= target
}

async function processorTime(round: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage()
  await round()
  const { user, system } = process.cpuUsage(before)
  return user + system
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

function shown(microseconds: number): string {
  return `${microseconds.toFixed(2)} µs`
}
