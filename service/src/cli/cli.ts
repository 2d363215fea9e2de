#!/usr/bin/env node
import { commandMain } from './command.ts'

// A reader that has gone, as behind `| head`, is no failure of the command.
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
  if (code === 'EPIPE') process.exit()
  process.stderr.write(`agent-service: the output could not be written (${code})\n`)
  process.exit(1)
})
process.stderr.on('error', () => {})
process.exitCode = await commandMain(process.argv.slice(2))
