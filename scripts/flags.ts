import type { ParseArgsConfig } from 'node:util'
import { parseArgs } from 'node:util'
import { argumentProblem } from '../service/src/cli/argument-problem.ts'

export const exitCodes = { ok: 0, failed: 1, usage: 2 } as const

type Options = NonNullable<ParseArgsConfig['options']>
type Values<O extends Options> = ReturnType<typeof parseArgs<{ options: O; args: string[] }>>['values']

export interface Command<O extends Options> {
  readonly name: string
  readonly help: string
  readonly options: O
  /** Default: those of the process. */
  readonly args?: readonly string[]
}

/** Runs a command of the project: `--help` prints its help, unknown arguments are exit code 2, a failure is one line. */
export async function runCommand<O extends Options>(
  { name, help, options, args: asked = process.argv.slice(2) }: Command<O>,
  main: (values: Values<O>) => Promise<number> | number,
): Promise<void> {
  const complain = (problem: string): unknown => process.stderr.write(`${name}: ${problem}\n`)
  if (asked.includes('--help') || asked.includes('-h')) {
    process.stdout.write(help)
    return
  }
  let values: Values<O>
  try {
    values = parseArgs({ args: [...asked], options }).values
  } catch (error) {
    const problem = argumentProblem(error, { args: asked, flags: [...Object.keys(options), 'help'], words: [] })
    complain(`${problem}${hintFor(name, asked, options)}\nTry npm run ${name} -- --help`)
    process.exitCode = exitCodes.usage
    return
  }
  try {
    process.exitCode = await main(values)
  } catch (error) {
    complain(messageOf(error))
    process.exitCode = exitCodes.failed
  }
}

/** What npm took for itself, when the `--` before the options was forgotten, leaves its value behind. */
function hintFor(name: string, args: readonly string[], options: Options): string {
  const [value] = parseArgs({ args: [...args], options, strict: false }).positionals
  if (value === undefined) return ''
  const valued = Object.keys(options).filter((option) => options[option]?.type === 'string')
  const taken = valued.find((option) => process.env[`npm_config_${option.replaceAll('-', '_')}`]) ?? valued[0]
  return ` (options go after --: npm run ${name} -- ${taken === undefined ? '--help' : `--${taken} ${value}`})`
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'it failed'
}
