import { heldValue, shown, shownTarget } from './figures.ts'
import { type Group, groups } from './groups.ts'
import type { Machine } from './machine.ts'
import type { Measured, Results, Row } from './results.ts'

/** Above this share of other work a machine is called busy. */
const busyFrom = 0.1

/** Returns the page of the last figures. It holds what was measured and nothing else. */
export function numbersPage(results: Results): string {
  const shown = groups.filter(({ name }) => results.measured[name])
  return [intro(results), ...shown.map((group) => section(group, results))].join('\n')
}

function intro({ last, figures, measured }: Results): string {
  const held = figures.filter(({ verdict }) => verdict !== undefined)
  const met = held.filter(({ verdict }) => verdict === 'pass')
  const unmeasured = groups.filter(({ name }) => !measured[name]).map(({ name }) => `\`${name}\``)
  return `# Numbers

This page has the figures of the last run of \`npm run bench\`, which writes it and its plot from \`bench/results.json\`.
[Benchmarks](benchmarks.md) explains how they are measured, and [decision 0014](decisions/0014-size-of-the-core.md) the sizes.

The last run began on ${day(last.at)} at commit \`${last.commit}\`. Targets met: ${met.length} of ${held.length}.${
    unmeasured.length > 0 ? ` Not measured yet: ${unmeasured.join(', ')}.` : ''
  }

![Figures that have a target, as points: left of the line at 1 it meets the target](numbers.svg)

Peers were measured in the same run. Compare ratios: absolute figures are those of one machine.
`
}

function section({ name, title, measures }: Group, { last, measured, figures }: Results): string {
  const rows = figures.filter(({ group }) => group === name).map(tableRow)
  return `## ${title}

${capital(measures)}. \`npm run bench -- --only ${name}\` measures it again.

${circumstances(measured[name] as Measured, last.at)}

| | Ours | Unit | Beside it, in the same unit | Target | |
|---|---|---|---|---|---|
${rows.join('\n')}
`
}

function circumstances(measured: Measured, lastRun: string): string {
  const { run, at, commit, machine, otherWork, versions } = measured
  const other = `other work took up to ${Math.round(otherWork * 100)} % of its processors just before or after.`
  const beside = Object.entries(versions).map(([name, version]) => `${name} ${version}`)
  return [
    `${run === lastRun ? '' : 'Not part of the last run. '}Measured on ${day(at)} at commit \`${commit}\``,
    `on ${told(machine)}${beside.length > 0 ? `, with ${beside.join(', ')}` : ''}.`,
    otherWork > busyFrom ? `The machine was busy: ${other}` : capital(other),
  ].join(' ')
}

function told({ processor, cores, memoryGiB, system, node }: Machine): string {
  return `${cores} cores of ${processor}, ${memoryGiB} GiB of memory, ${system}, Node ${node}`
}

function tableRow(row: Row): string {
  const { name, value, unit, peers = {} } = row
  const beside = Object.entries(peers).map(([peer, one]) => `${peer}: ${shown(one)}`)
  const cells = [name, shown(value), unit, beside.join(', '), ...judgement(row)]
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
}

function judgement(row: Row): readonly [target: string, verdict: string] {
  const { target, verdict = '' } = row
  if (target === undefined) return ['', '']
  if (target.of === undefined) return [shownTarget(target), verdict]
  return [`${shownTarget(target).replace(/x$/, '×')} ${target.of}`, `${shown(heldValue(row))} ×, ${verdict}`]
}

/** In UTC, to the minute. */
function day(at: string): string {
  const format = { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' } as const
  return `${new Date(at).toLocaleString('en-GB', format)} UTC`
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}
