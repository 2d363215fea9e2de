import { existsSync } from 'node:fs'
import { commandName } from '../command-name.ts'
import type { ClientsCommand } from './clients/command-line.ts'
import { readClientsCommand } from './clients/command-line.ts'
import type { CommandResult, ListedChange, ListedClient } from './clients/run-command.ts'
import { runClientsCommand } from './clients/run-command.ts'
import { refuseDataFile } from './data-file.ts'
import { failureText } from './failures.ts'

/** `agent-service clients …`; returns the exit code. */
export async function clientsMain(args: string[]): Promise<0 | 1 | 2> {
  const read = readClientsCommand(args)
  if (read.kind === 'help') {
    process.stdout.write(read.text)
    return 0
  }
  if (read.kind === 'usage') return complain(`${read.problem}\nTry ${commandName()} clients --help`, 2)
  const { dataFile, databaseUrl } = read.command.location
  const problem = dataFile !== undefined && existsSync(dataFile) ? refuseDataFile(dataFile) : undefined
  if (problem !== undefined) return complain(problem, 1)
  try {
    const result = await runClientsCommand(read.command)
    if (result.kind === 'refused') return complain(result.problem, 1)
    process.stdout.write(textOf(read.command, result.value))
    return 0
  } catch (error) {
    return complain(failureText(error, databaseUrl), 1)
  }
}

function complain(problem: string, exitCode: 1 | 2): 1 | 2 {
  process.stderr.write(`agent-service: ${problem}\n`)
  return exitCode
}

function textOf({ output, action }: ClientsCommand, value: Extract<CommandResult, { kind: 'done' }>['value']): string {
  if (output === 'json') return `${JSON.stringify(value)}\n`
  if ('changes' in value) return value.changes.map(changeText).join('')
  if ('clients' in value) return value.clients.map(clientText).join('')
  if (!('clientSecret' in value)) return `${value.clientId} ${action}: done\n`
  const secret = value.clientSecret === undefined ? '' : `secret ${value.clientSecret}\n`
  return `client ${value.clientId}\n${secret}`
}

function changeText({ atMs, event, clientId, tenant, actor }: ListedChange): string {
  return `${new Date(atMs).toISOString()} ${event} ${clientId} (tenant ${tenant}) by ${actor}\n`
}

function clientText({ clientId, name, kind, tenant, state, redirectUris, secrets }: ListedClient): string {
  const made = secrets.map(({ id, createdMs }) => `  ${id} made ${new Date(createdMs).toISOString()}\n`)
  return `${clientId} ${state} (${kind}, tenant ${tenant}) ${name}\n${redirectUris.map((uri) => `  ${uri}\n`).join('')}${made.join('')}`
}
