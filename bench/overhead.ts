import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type Figure, heldValue, median, type Size } from './figures.ts'

const forms = ['text', 'request', 'server'] as const
const processes = { whole: 5, short: 1 }

/**
 * The bearer fetch with a valid token against the least one could write by hand, as the package has it. V8 compiles each of them once in
 * a process, not always to code of the same speed, and by what ran there before. So each form of a call is measured in processes of its
 * own, and its figure is that of the process with the median ratio.
 */
export async function overhead(size: Size): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const form of forms) {
    const runs: Figure[] = []
    for (let run = 0; run < processes[size]; run++) runs.push(await measureInOwnProcess(form, size))
    figures.push(...middleAndHighest(runs))
  }
  return figures
}

async function measureInOwnProcess(form: (typeof forms)[number], size: Size): Promise<Figure> {
  const module = fileURLToPath(new URL('overhead/measure.ts', import.meta.url))
  const measuring = fork(module, [form, size], { execArgv: ['--import', 'tsx'] })
  const ended = once(measuring, 'exit').then(([code]) => {
    throw new Error(`a process of the bench ended with ${code} and no figure`)
  })
  const [figure] = await Promise.race([once(measuring, 'message'), ended])
  return figure
}

/** Returns the figure with the median ratio, and the highest ratio without a target. */
export function middleAndHighest(figures: readonly Figure[]): Figure[] {
  const ratios = figures.map(heldValue)
  const middle = figures[ratios.indexOf(median(ratios))]
  if (!middle) throw new Error('a figure of the overhead has no ratio')
  const highest = { name: `${middle.name}, highest of ${figures.length}`, value: Math.max(...ratios) }
  return [middle, { ...highest, unit: `x ${middle.target?.of}` }]
}
