import type { ParseArgsConfig } from 'node:util'
import { parseArgs } from 'node:util'

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
  { name, help, options, args = process.argv.slice(2) }: Command<O>,
  main: (values: Values<O>) => Promise<number> | number,
): Promise<void> {
  const fail = (error: unknown, exitCode: number): void => {
    process.stderr.write(`${name}: ${error instanceof Error ? error.message : 'it failed'}\n`)
    process.exitCode = exitCode
  }
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(help)
    return
  }
  let values: Values<O>
  try {
    values = parseArgs({ args: [...args], options }).values
  } catch (error) {
    fail(error, exitCodes.usage)
    return
  }
  try {
    process.exitCode = await main(values)
  } catch (error) {
    fail(error, exitCodes.failed)
  }
}
