import { readFileSync } from 'node:fs'
import { isAgentAuthError } from '../errors.ts'
import { type CommandLine, type CommandName, readCommandLine, UsageError } from './command-line.ts'
import { escaped } from './escaped.ts'
import { inTerminal } from './in-terminal.ts'
import type { Result } from './session.ts'

/** Each command is loaded when it is used, because loading takes most of a start. */
const run: Record<CommandName, (line: CommandLine) => Promise<Result>> = {
  login: async (line) => (await import('./login.ts')).login(line),
  logout: async (line) => (await import('./session.ts')).logout(line),
  status: async (line) => (await import('./session.ts')).status(line),
  whoami: async (line) => (await import('./session.ts')).status(line),
  token: async (line) => (await import('./session.ts')).token(line),
  fetch: async (line) => (await import('./fetch.ts')).fetchPath(line),
  doctor: async (line) => (await import('./doctor.ts')).doctor(line),
}

/** `agent-auth …`; returns the exit code. */
export async function commandMain(args: readonly string[]): Promise<number> {
  try {
    const line = readCommandLine(args)
    if (line === 'help') {
      process.stdout.write((await import('./help.ts')).helpText)
      return 0
    }
    if (line === 'version') {
      process.stdout.write(`${versionOfPackage()}\n`)
      return 0
    }
    const { exitCode, text, json } = await run[line.name](line)
    process.stdout.write(`${line.output === 'json' ? escaped(JSON.stringify(json)) : text.replace(/\n$/, '')}\n`)
    return exitCode
  } catch (error) {
    return await complain(error)
  }
}

function versionOfPackage(): string {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  return version
}

/**
 * Prints an error, and returns the exit code: 1 failed, 2 wrong arguments or settings, 3 sign-in required, 4 try again later, 130
 * interrupted.
 */
async function complain(error: unknown): Promise<number> {
  if (error instanceof UsageError) {
    process.stderr.write(`agent-auth: ${escaped(error.message)}\nTry agent-auth --help\n`)
    return 2
  }
  // Only the errors of the library are known to hold no secret.
  if (!isAgentAuthError(error)) {
    process.stderr.write('agent-auth: an unexpected error occurred\n')
    return 1
  }
  const { code, message, retryable, details } = error
  process.stderr.write(`agent-auth: ${code === 'aborted' ? 'Cancelled.' : escaped(inTerminal(message))} (${code})\n`)
  if (code === 'storage_failed') process.stderr.write(`${(await import('./profile.ts')).whereStorage(process.env)}\n`)
  if (code === 'config_invalid') return 2
  if (code === 'login_required' || code === 'session_ended') return 3
  if (code === 'aborted') return 130
  // After a login that was not finished, the user has to do something. Only the timeout of a request has details.
  return retryable && (code !== 'timeout' || details) ? 4 : 1
}
