import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import * as Plot from '@observablehq/plot'
import { colors, legend, svg } from '../svg.ts'
import type { LockCost } from './lock.ts'
import type { Memory } from './memory.ts'
import { type Results, readResults } from './results.ts'
import type { Outcome } from './scenarios.ts'

const folder = new URL('../../docs/', import.meta.url)

/** Draws the plots of docs/scale.md from bench/scale.json. */
export function drawPlots(results: Results = readResults()): void {
  for (const [name, text] of Object.entries(plotsOf(results))) writeFileSync(new URL(name, folder), text)
  process.stdout.write(`The plots are in ${fileURLToPath(folder)}.\n`)
}

/** Returns the plots by the names of their files. */
export function plotsOf({ outage, memory = [], lock = [] }: Results): Record<string, string> {
  // The case of calls that reach any process is left out, because its rates are five times as high.
  const short = outage?.outcomes.filter(({ title }) => /^outage( with .*)?, 10-minute tokens$/.test(title))
  return {
    'scale-outage.svg': svg('Requests to the token endpoint during and after an outage', outagePlot(short ?? [])),
    'scale-memory.svg': svg('What sessions take in Redis and PostgreSQL', memoryPlot(memory)),
    'scale-lock.svg': svg('Round trips of tasks that wait for one lock', lockPlot(lock)),
  }
}

function outagePlot(outcomes: readonly Outcome[]): Plot.PlotOptions {
  const { steadyPerS: steady = 0, lowestPeak = 0 } = outcomes[0] ?? {}
  const rules = [
    { rate: 3 * steady, text: '3 × the steady rate' },
    { rate: lowestPeak * steady, text: `${lowestPeak} ×, the least for two minutes` },
  ]
  const points = outcomes.map(({ perSecond }) => perSecond.map((rate, index) => ({ minute: index / 6, rate })))
  const names = outcomes.map(({ title }) => /Retry-After: \d+/.exec(title)?.[0] ?? 'not reachable')
  return {
    x: { label: 'minutes' },
    y: { label: 'requests per second', grid: true, tickFormat: 's' },
    marks: [
      Plot.rectX([{ from: 10, to: 20 }], { x1: 'from', x2: 'to', fill: 'currentColor', fillOpacity: 0.08 }),
      Plot.ruleY([steady, ...rules.map(({ rate }) => rate)], { strokeDasharray: '4' }),
      Plot.text(rules, { x: () => 0.2, y: 'rate', text: 'text', textAnchor: 'start', dy: -7 }),
      ...points.map((data, index) =>
        Plot.lineY(data, { x: 'minute', y: 'rate', stroke: colors[index] ?? 'currentColor' }),
      ),
      legend(names, 24),
    ],
  }
}

function memoryPlot(memory: readonly Memory[]): Plot.PlotOptions {
  const stores = ['Redis', 'PostgreSQL'] as const
  const of = (store: string) => memory.filter((one) => one.store === store)
  return {
    x: { type: 'log', label: 'sessions', tickFormat: '~s' },
    y: { type: 'log', label: 'bytes', tickFormat: '~s', grid: true },
    marks: [
      ...stores.flatMap((store, index) => [
        Plot.lineY(of(store), { x: 'sessions', y: 'bytes', stroke: colors[index] ?? 'currentColor' }),
        Plot.dot(of(store), {
          x: 'sessions',
          y: 'bytes',
          stroke: colors[index] ?? 'currentColor',
          fill: colors[index] ?? 'currentColor',
          fillOpacity: ({ source }: Memory) => (source === 'measured' ? 1 : 0),
        }),
      ]),
      legend([...stores, 'hollow: from the line through the others'], 24),
    ],
  }
}

function lockPlot(lock: readonly LockCost[]): Plot.PlotOptions {
  const groups = [...new Set(lock.map(({ store, where }) => `${store}, ${where}`))]
  const of = (group: string) => lock.filter(({ store, where }) => `${store}, ${where}` === group)
  return {
    x: { type: 'log', label: 'tasks that wait', ticks: [1, 10, 100, 1_000], tickFormat: '~s' },
    y: { type: 'log', label: 'round trips', tickFormat: '~s', grid: true },
    marks: [
      ...groups.flatMap((group, index) => [
        Plot.lineY(of(group), { x: 'waiters', y: 'roundTrips', stroke: colors[index] ?? 'currentColor' }),
        Plot.dot(of(group), { x: 'waiters', y: 'roundTrips', fill: colors[index] ?? 'currentColor' }),
      ]),
      legend(groups, 24),
    ],
  }
}
