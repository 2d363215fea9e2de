import type { ParseArgsConfig } from 'node:util'
import { commandOptions } from '../command-options.ts'
import { meantNames, nearName } from '../near-name.ts'
import type { OptionEntry } from '../option-entry.ts'
import { isVariable, variableOf, variablePrefix } from '../option-entry.ts'
import { serviceOptions } from '../options.ts'

export type Environment = Readonly<Record<string, string | undefined>>
export type FlagValues = Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>
type Value = string | number | readonly string[] | object

const entries: readonly OptionEntry[] = [...Object.values(serviceOptions), ...Object.values(commandOptions)]

/** The flags of all options, for `parseArgs`. */
export const optionFlags: NonNullable<ParseArgsConfig['options']> = Object.fromEntries(
  entries.map(({ flag, kind }) => [
    flag,
    { type: kind === 'switch' ? ('boolean' as const) : ('string' as const), multiple: kind === 'list' },
  ]),
)

/**
 * Reads an option from its flag, or else from its variable. An empty variable counts as absent, because Compose and CI set such ones.
 * Throws a RangeError that names the flag or the variable.
 */
export function readOption(entry: OptionEntry, flags: FlagValues, environment: Environment): Value | undefined {
  const flag = flags[entry.flag]
  if (typeof flag === 'boolean') return flag ? 'on' : 'off'
  if (Array.isArray(flag)) return flag.map(String)
  const text = flag ?? (environment[variableOf(entry)] || undefined)
  if (text === undefined) return undefined
  const value = parsed(entry, text)
  if (value !== undefined) return value
  throw new RangeError(`${nameAsGiven(entry, flags, environment)} takes ${expectedBy(entry)}`)
}

/** Returns the variable if the option came from it, and otherwise the flag. */
export function nameAsGiven(entry: OptionEntry, flags: FlagValues, environment: Environment): string {
  const variable = variableOf(entry)
  return flags[entry.flag] === undefined && environment[variable] ? variable : `--${entry.flag}`
}

/** Returns what a flag takes, for a message, or undefined for an unknown flag. */
export function expectedByFlag(flag: string): string | undefined {
  const entry = entries.find((one) => one.flag === flag)
  return entry && expectedBy(entry)
}

/** Returns undefined if the text is no value of the option. */
function parsed({ kind, choices = [], range }: OptionEntry, text: string): Value | undefined {
  if (kind === 'switch') return switchValues[text.toLowerCase()]
  if (kind === 'choice') return choices.find((choice) => choice === text)
  if (kind === 'list') return text.split(/\s+/).filter((item) => item !== '')
  if (kind === 'json') return jsonObjectOf(text)
  if (kind === 'text') return text === '' ? undefined : text
  const isInRange =
    /^\d{1,9}$/.test(text) && range !== undefined && Number(text) >= range.least && Number(text) <= range.most
  return isInRange ? Number(text) : undefined
}

const switchValues: Record<string, 'on' | 'off'> = { on: 'on', true: 'on', 1: 'on', off: 'off', false: 'off', 0: 'off' }

function jsonObjectOf(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

function expectedBy({ kind, choices = [], range, value }: OptionEntry): string {
  if (kind === 'switch') return 'on or off'
  if (kind === 'choice') return `${choices.slice(0, -1).join(', ')} or ${choices.at(-1)}`
  if (kind === 'json') return 'an object as JSON'
  return kind === 'number' ? `a whole number from ${range?.least} to ${range?.most}` : `a value: ${value}`
}

/** Returns a warning for each variable that looks like an option and is none. It may belong to another program, so it is not refused. */
export function unknownVariables(environment: Environment): string[] {
  const known = entries.map(variableOf)
  const bare = known.map((name) => name.slice(variablePrefix.length))
  return Object.keys(environment)
    .filter((name) => isVariable(name) && !known.includes(name))
    .map((name) => {
      // A variable that another program sets, as Kubernetes does, may share a word with an option and is near none.
      const meant = nearName(name, known) === undefined ? [] : meantNames(name.slice(variablePrefix.length), bare)
      const hint = meant.map((one) => variablePrefix + one).join(' or ')
      return `the variable ${name.slice(0, 60)} is no option${hint === '' ? '' : `; did you mean ${hint}?`}`
    })
}
