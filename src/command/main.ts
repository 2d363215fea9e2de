#!/usr/bin/env node
import { commandMain } from './command.ts'

process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
  // A reader that left, as `head` does, is no failure.
  if (code === 'EPIPE') process.exit()
  process.stderr.write(`agent-auth: the output could not be written (${code})\n`)
  process.exit(1)
})
process.stderr.on('error', () => {})
process.exitCode = await commandMain(process.argv.slice(2))
