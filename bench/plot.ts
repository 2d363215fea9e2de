import * as Plot from '@observablehq/plot'
import { heldValue, shown, shownTarget } from './figures.ts'
import { groups } from './groups.ts'
import type { Results, Row } from './results.ts'
import { svg } from './svg.ts'

const rowHeight = 18
const marks = {
  pass: { symbol: 'circle', color: 'var(--third)' },
  missed: { symbol: 'times', color: 'var(--first)' },
} as const

interface Point {
  /** The line of the plot, which is unique. */
  readonly line: string
  readonly row: Row
  /** How much of its target the figure takes: at most 1 if it is met. */
  readonly share: number
}

/** Returns the plot of every figure that has a target, by how much of the target it takes. */
export function numbersPlot({ figures }: Results): string {
  const points = figures.flatMap(pointOf)
  const titles = groups.filter(({ name }) => points.some(({ row }) => row.group === name))
  const lines = titles.flatMap(({ name, title }) => [
    { line: `title ${name}`, label: title },
    ...points.filter(({ row }) => row.group === name).map(({ line, row }) => ({ line, label: row.name })),
  ])
  const labels = new Map(lines.map(({ line, label }) => [line, label]))
  const shares = points.map(({ share }) => share)
  return svg('Each figure that has a target, by how much of its target it takes', {
    width: 960,
    height: lines.length * rowHeight + 50,
    ...{ marginLeft: 445, marginRight: 215, marginTop: 42, marginBottom: 8 },
    x: { type: 'log', domain: [Math.min(0.5, ...shares), Math.max(2, ...shares)], label: null, axis: null },
    y: { domain: [...labels.keys()], label: null, axis: null },
    marks: [
      Plot.axisX({ anchor: 'top', tickFormat: '~g', ticks: 5, label: null }),
      Plot.text(['share of the target; above 1 it is missed'], {
        ...{ text: (text: string) => text, frameAnchor: 'top', dy: -34, lineAnchor: 'top' },
      }),
      Plot.ruleX([1], { strokeDasharray: '4' }),
      Plot.gridY(
        points.map(({ line }) => line),
        { strokeOpacity: 0.12 },
      ),
      ...([/^title /, /^(?!title )/] as const).map((kind, index) =>
        Plot.text(
          lines.filter(({ line }) => kind.test(line)),
          {
            ...{ y: 'line', text: 'label', frameAnchor: 'left', textAnchor: 'end', dx: -8 },
            fontWeight: index === 0 ? 'bold' : 'normal',
          },
        ),
      ),
      ...(['pass', 'missed'] as const).map((verdict) =>
        Plot.dot(
          points.filter(({ row }) => row.verdict === verdict),
          {
            ...{ x: 'share', y: 'line', r: 4, symbol: marks[verdict].symbol, stroke: marks[verdict].color },
            fill: verdict === 'pass' ? marks[verdict].color : 'none',
          },
        ),
      ),
      Plot.text(points, {
        ...{ y: 'line', frameAnchor: 'right', textAnchor: 'start', dx: 8 },
        text: ({ row }: Point) => told(row),
      }),
    ],
  })
}

/** A target of nothing at all has no share: such figures are in the table only. */
function pointOf(row: Row): Point[] {
  const { target, group, name } = row
  if (target === undefined || ('most' in target && target.most === 0)) return []
  const share = 'most' in target ? heldValue(row) / target.most : target.least / heldValue(row)
  return share > 0 && Number.isFinite(share) ? [{ line: `${group} ${name}`, row, share }] : []
}

function told(row: Row): string {
  const { target, unit } = row
  if (target === undefined) return ''
  const value = target.of === undefined ? `${shown(row.value)} ${unit}`.trimEnd() : `${shown(heldValue(row))} ×`
  return `${value}, ${shownTarget(target).replace(/ x$/, ' ×')}`
}
