/** Runs the tasks in turns, so that warm-up and noise hit all alike, and gives the quietest round of each in milliseconds. */
export async function quietest<T extends string>(
  tasks: Readonly<Record<T, () => Promise<void>>>,
  rounds: number,
): Promise<Record<T, number>> {
  const names = Object.keys(tasks) as T[]
  const times = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<T, number[]>
  for (const name of names) await tasks[name]()
  for (let round = 0; round < rounds; round++) {
    for (const name of names) {
      const start = performance.now()
      await tasks[name]()
      times[name].push(performance.now() - start)
    }
  }
  return Object.fromEntries(names.map((name) => [name, Math.min(...times[name])])) as Record<T, number>
}

export function line(name: string, value: string): void {
  process.stdout.write(`${name.padEnd(34)}${value}\n`)
}
