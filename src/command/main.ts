#!/usr/bin/env node
import { isAgentAuthError } from '../errors.ts'
import { type CommandLine, type CommandName, readCommandLine, UsageError } from './command-line.ts'
import type { Result } from './session.ts'

/** Each command is loaded when it is used, because loading takes most of a start. */
const run: Record<CommandName, (line: CommandLine) => Promise<Result>> = {
  login: async (line) => (await import('./login.ts')).login(line),
  logout: async (line) => (await import('./session.ts')).logout(line),
  status: async (line) => (await import('./session.ts')).status(line),
  token: async (line) => (await import('./session.ts')).token(line),
  fetch: async (line) => (await import('./fetch.ts')).fetchPath(line),
  doctor: async (line) => (await import('./doctor.ts')).doctor(line),
}

process.exitCode = await main(process.argv.slice(2))

async function main(args: readonly string[]): Promise<number> {
  try {
    const line = readCommandLine(args)
    if (line === 'help') {
      process.stdout.write((await import('./help.ts')).helpText)
      return 0
    }
    const { exitCode, text, json } = await run[line.name](line)
    process.stdout.write(`${line.output === 'json' ? JSON.stringify(json) : text.replace(/\n$/, '')}\n`)
    return exitCode
  } catch (error) {
    return complain(error)
  }
}

function complain(error: unknown): number {
  if (error instanceof UsageError) {
    process.stderr.write(`agent-auth: ${error.message}\nTry agent-auth --help\n`)
    return 2
  }
  // Only the errors of the library are known to hold no secret.
  if (!isAgentAuthError(error)) {
    process.stderr.write('agent-auth: an unexpected error occurred\n')
    return 1
  }
  const { code, message, retryable } = error
  process.stderr.write(`agent-auth: ${message} (${code})\n`)
  if (code === 'config_invalid') return 2
  if (code === 'login_required' || code === 'session_ended') return 3
  if (code === 'aborted') return 130
  return retryable ? 4 : 1
}
