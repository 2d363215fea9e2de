import { createRequire } from 'node:module'
import { commandName } from '../command-name.ts'
import { refuseDev } from '../config.ts'
import { listed } from '../issue-text.ts'
import { toolLimits } from '../limits.ts'
import { startAlone } from '../server/start-service.ts'
import type { Service } from '../service.ts'
import type { ServiceOptions } from '../service-options.ts'
import { failureText } from './failures.ts'
import { type OfflineCommand, refuseDataFile, runOffline } from './offline.ts'
import { type NameOf, readCommand, type StartCommand } from './read-command.ts'
import { dataFlag, environmentText, helpText, jsonLine, placesText, rosterText } from './texts.ts'

/** `ok`: it was stopped, or printed a help text. `failed`: it could not start, or did not stop in time. `usage`: wrong arguments. */
const exitCodes = { ok: 0, failed: 1, usage: 2 } as const

/** A command is loaded only if it is used, because loading takes most of a start. */
const commands: Record<string, () => Promise<OfflineCommand>> = {
  clients: async () => (await import('./clients.ts')).clients,
  export: async () => (await import('./export.ts')).exportData,
  backup: async () => (await import('./backup.ts')).backup,
  'reset-password': async () => (await import('./reset-password.ts')).resetPassword,
}

/** `agent-service …`; returns the exit code. */
export async function commandMain(args: string[]): Promise<number> {
  if (args.some((arg) => arg === '--version' || arg === '-v')) {
    const { version }: { version: string } = createRequire(import.meta.url)('agent-service/package.json')
    process.stdout.write(`${version}\n`)
    return exitCodes.ok
  }
  const [word = '', ...rest] = args
  const load = Object.hasOwn(commands, word) ? commands[word] : undefined
  return load === undefined ? startMain(args) : runOffline(await load(), rest)
}

async function startMain(args: string[]): Promise<number> {
  const command = readCommand(args, process.env)
  if (typeof command === 'string') return complain(`${command}\nTry ${commandName()} --help`)
  if (command.kind === 'help') {
    process.stdout.write(helpText)
    return exitCodes.ok
  }
  for (const warning of command.warnings) process.stderr.write(`agent-service: warning: ${warning}\n`)
  if (command.options.dev === 'on') {
    const [dev, ...names] = (['dev', 'authUrl', 'baseUrl', 'host'] as const).map(command.nameOf)
    if (process.env.NODE_ENV === 'production')
      return complain(`${dev} does not start with NODE_ENV=production: leave ${dev} out, or set another NODE_ENV`)
    const problem = refuseDev(command.options)
    if (problem !== undefined) return complain(`${dev} does not start with this ${listed(names)}: ${problem}`)
  }
  return run(command)
}

function complain(problem: string): number {
  process.stderr.write(`agent-service: ${problem}\n`)
  return exitCodes.usage
}

async function run({ output, framework, opens, options, nameOf }: StartCommand): Promise<number> {
  try {
    const problem = options.dataFile === undefined ? undefined : refuseDataFile(options.dataFile)
    if (problem !== undefined) throw new Error(problem)
    const stopped = stopSignal()
    const service = await startAlone(options)
    warnOfKeptClients(service, options, nameOf)
    const texts = {
      text: () =>
        rosterText(service, options) + environmentText(service, framework, options) + placesText(service, options.dev),
      json: () => jsonLine(service),
      nothing: () => '',
    }
    process.stdout.write(texts[output]())
    if (opens === 'pages') await openPages(service, options.dev)
    await stopped
    await service.close()
    return exitCodes.ok
  } catch (error) {
    process.stderr.write(`agent-service: ${failureText(error, options.databaseUrl, nameOf)}\n`)
    return exitCodes.failed
  }
}

/** Opens the dev page or the description. A machine without a browser is warned and goes on. */
async function openPages({ authUrl, baseUrl }: Service, dev: ServiceOptions['dev']): Promise<void> {
  const url = dev === 'on' ? `${authUrl}/_dev` : `${baseUrl}/openapi.json`
  const { default: open } = await import('open')
  await open(url).catch(() =>
    process.stderr.write(`agent-service: warning: no browser could be started; open ${url}\n`),
  )
}

/** Warns that redirect URIs were not registered, because only the first start on a database registers them. */
function warnOfKeptClients({ clients }: Service, options: ServiceOptions, nameOf: NameOf): void {
  const { redirectUris = [] } = options
  const registered = new Set(clients.flatMap((client) => client.redirectUris))
  const missing = redirectUris.filter((uri) => !registered.has(uri))
  if (missing.length === 0) return
  process.stderr.write(
    `agent-service: warning: ${nameOf('redirectUris')} ignored, because this database already has clients: ${missing.join(', ')}. ` +
      `To add a client, run: ${commandName()} clients create${dataFlag(options)}\n`,
  )
}

function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.once(signal, () => {
        endAtDeadline()
        resolve()
      })
    }
  })
}

/**
 * Ends a process that something keeps running. The timer itself does not keep it running.
 */
function endAtDeadline(): void {
  const end = (): never => {
    process.stderr.write('agent-service: did not stop in time and was ended\n')
    process.exit(exitCodes.failed)
  }
  setTimeout(end, toolLimits.stopMs).unref()
}
