import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as service from '../../service/src/limits.ts'
import { seedLimits } from '../../service/src/seed/seed-limits.ts'
import { telemetryLimits } from '../../service/src/telemetry/limits.ts'
import * as library from '../../src/internal/limits.ts'
import * as node from '../../src/node/limits.ts'

// A comment that states a limit writes its name and its figure: `maxLoginMs`, 10 minutes.

const root = fileURLToPath(new URL('../../', import.meta.url))

const units: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  second: 1_000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
  year: 31_536_000_000,
  byte: 1,
  KiB: 1_024,
  MiB: 1_048_576,
  GiB: 1_073_741_824,
}

export interface Limit {
  readonly name: string
  readonly value: number
}

export const limitsOf: Readonly<Record<string, readonly Limit[]>> = {
  src: [...flat(library), ...flat(node)],
  'service/src': [...flat(service), ...flat({ seedLimits, telemetryLimits })],
}

function flat(value: object, path = ''): Limit[] {
  return Object.entries(value).flatMap(([key, member]) => {
    const name = path ? `${path}.${key}` : key
    return typeof member === 'number' ? [{ name, value: member }] : flat(member, name)
  })
}

/** Returns the value that a figure with a unit means for this limit, whose name ends in its own unit. */
function amountOf({ name }: Limit, figure: string, unit = ''): number {
  const factor = units[unit] ?? units[unit.replace(/s$/, '')] ?? 1
  return (Number(figure.replaceAll(',', '')) * factor) / (/S$/.test(name) ? 1_000 : 1)
}

/** A figure that a comment states of a limit. */
export interface Statement {
  readonly place: string
  readonly limit: Limit
  readonly isRight: boolean
}

/** Returns what the comments of a folder say about its limits. The end of a dotted name is enough. */
export function statementsIn(folder: string): Statement[] {
  const limits = limitsOf[folder] ?? []
  const files = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).filter((file) =>
    /\.tsx?$/.test(file),
  )
  return files.flatMap((file) => {
    const text = readFileSync(join(root, folder, file), 'utf8').replace(/\n\s*(\*|\/\/) ?/g, ' ')
    return [...text.matchAll(/`([\w.]+)`, (\d[\d,]*)(?: ([A-Za-z]+))?/g)].flatMap(([said, name, figure = '', unit]) => {
      const named = limits.filter((limit) => limit.name === name || limit.name.endsWith(`.${name}`))
      // Two groups can have a limit of one name, and the comment is about one of them.
      const right = named.filter((limit) => amountOf(limit, figure, unit) === limit.value)
      const place = `${folder}/${file}: ${said}`
      return (right.length > 0 ? right : named).map((limit) => ({ place, limit, isRight: right.length > 0 }))
    })
  })
}
