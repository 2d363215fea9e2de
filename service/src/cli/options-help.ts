import { commandOptions } from '../command-options.ts'
import type { OptionEntry } from '../option-entry.ts'
import { serviceOptions } from '../options.ts'

const flagColumns = 25
const lineColumns = 126

/** Returns the lines of all options for the help text. */
export function optionsHelp(): string {
  const entries: OptionEntry[] = [...Object.values(serviceOptions), ...Object.values(commandOptions)]
  return entries.map(entryHelp).join('')
}

function entryHelp({ flag, value, kind, standard, meaning }: OptionEntry): string {
  const head = `  --${flag}${value === undefined ? '' : ` ${value}`}`
  const repeatable = kind === 'list' ? '; repeatable' : ''
  const lines = wrapped(`${asTyped(meaning)}${repeatable} (default: ${asTyped(standard)})`)
  const first = head.length < flagColumns - 1 ? head.padEnd(flagColumns) : `${head}\n${' '.repeat(flagColumns)}`
  return `${first}${lines.join(`\n${' '.repeat(flagColumns)}`)}\n`
}

/** Names options as flags, and removes the backticks of the README. */
function asTyped(text: string): string {
  return text.replace(/`([^`]+)`/g, (_, name: string) => {
    const entry = Object.entries(serviceOptions).find(([option]) => option === name)?.[1]
    return entry === undefined ? name : `--${entry.flag}`
  })
}

function wrapped(text: string): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const line = lines.at(-1)
    if (line === undefined || flagColumns + line.length + 1 + word.length > lineColumns) lines.push(word)
    else lines[lines.length - 1] = `${line} ${word}`
  }
  return lines
}
