#!/usr/bin/env node
import { parseArgs } from 'node:util'
import { commandName } from '../command-name.ts'
import type { ServiceOptions } from '../config.ts'
import { refuseDev } from '../config.ts'
import { defaultPorts, optionRanges, toolLimits } from '../limits.ts'
import { refuseRedirectUri } from '../redirect-uris.ts'
import { startAlone } from '../server/start-service.ts'
import type { Service } from '../service.ts'
import { argumentProblem } from './argument-problem.ts'
import { refuseDataFile } from './data-file.ts'
import type { Framework } from './environment.ts'
import { environmentText, frameworks } from './environment.ts'
import { failureText } from './failures.ts'
import { helpText, jsonLine, placesText, rosterText } from './texts.ts'
import { whereData } from './where-data.ts'

interface Command {
  kind: 'help' | 'start'
  output: 'text' | 'json'
  framework: Framework | undefined
  options: ServiceOptions
}

const flags = {
  dev: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
  'auth-port': { type: 'string' },
  'base-port': { type: 'string' },
  'auth-url': { type: 'string' },
  'base-url': { type: 'string' },
  data: { type: 'string' },
  env: { type: 'string' },
  'redirect-uri': { type: 'string', multiple: true },
  'trusted-proxies': { type: 'string', default: '0' },
} as const

const exitCodes = { ok: 0, failed: 1, usage: 2 } as const

const args = process.argv.slice(2)
// The clients command is loaded only if it is used, because loading takes most of a start.
process.exitCode = await (args[0] === 'clients'
  ? import('./clients.ts').then(({ clientsMain }) => clientsMain(args.slice(1)))
  : main())

async function main(): Promise<number> {
  const command = readCommand(args)
  if (typeof command === 'string') {
    process.stderr.write(`agent-service: ${command}\nTry ${commandName()} --help\n`)
    return exitCodes.usage
  }
  if (command.kind === 'help') {
    process.stdout.write(helpText)
    return exitCodes.ok
  }
  if (command.options.dev === 'on' && process.env.NODE_ENV === 'production') {
    process.stderr.write(
      'agent-service: --dev does not start with NODE_ENV=production: leave --dev out, or set another NODE_ENV\n',
    )
    return exitCodes.usage
  }
  const problem = command.options.dev === 'on' ? refuseDev(command.options) : undefined
  if (problem !== undefined) {
    process.stderr.write(`agent-service: --dev does not start with this --auth-url or --base-url: ${problem}\n`)
    return exitCodes.usage
  }
  return run(command)
}

async function run({ output, framework, options }: Command): Promise<number> {
  try {
    const problem = options.dataFile === undefined ? undefined : refuseDataFile(options.dataFile)
    if (problem !== undefined) throw new Error(problem)
    const stopped = stopSignal()
    const service = await startAlone(options)
    warnOfKeptClients(service, options)
    const texts = [rosterText(service), environmentText(service, framework), placesText(service, options.dev)]
    process.stdout.write(output === 'json' ? jsonLine(service) : texts.join(''))
    await stopped
    await service.close()
    return exitCodes.ok
  } catch (error) {
    process.stderr.write(`agent-service: ${failureText(error, options.databaseUrl)}\n`)
    return exitCodes.failed
  }
}

/** Warns that redirect URIs were not registered, because only the first start on a database registers them. */
function warnOfKeptClients({ clients }: Service, { redirectUris = [] }: ServiceOptions): void {
  const registered = new Set(clients.flatMap((client) => client.redirectUris))
  const missing = redirectUris.filter((uri) => !registered.has(uri))
  if (missing.length === 0) return
  process.stderr.write(
    `agent-service: warning: --redirect-uri ignored, because this database already has clients: ${missing.join(', ')}. ` +
      `To add a client, run: ${commandName()} clients create\n`,
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

/** Ends a process that something keeps running. The timer itself does not keep it running (S-089, A-66). */
function endAtDeadline(): void {
  const end = (): never => {
    process.stderr.write('agent-service: did not stop in time and was ended\n')
    process.exit(exitCodes.failed)
  }
  setTimeout(end, toolLimits.stopMs).unref()
}

function readCommand(args: string[]): Command | string {
  try {
    const { values } = parseArgs({ args, options: flags })
    const badUri = (values['redirect-uri'] ?? []).map(refuseRedirectUri).find((problem) => problem !== undefined)
    if (badUri !== undefined) return `--redirect-uri: ${badUri}`
    const framework = frameworks.find((known) => known === values.env)
    if (values.data === '') return '--data takes the path of a file'
    if (values.env !== undefined && framework === undefined) return '--env takes vite, next or node'
    const authPort = portOf('--auth-port', values['auth-port'], defaultPorts.auth)
    const basePort = portOf('--base-port', values['base-port'], defaultPorts.base)
    if (authPort === basePort && authPort !== 0)
      return `--auth-port and --base-port are both ${authPort}; they must differ`
    const options: ServiceOptions = {
      dev: values.dev ? 'on' : 'off',
      authPort,
      basePort,
      redirectUris: values['redirect-uri'] ?? [],
      trustedProxies: proxiesOf(values['trusted-proxies']),
      ...whereData(values.data),
      ...(values['auth-url'] === undefined ? {} : { authUrl: values['auth-url'] }),
      ...(values['base-url'] === undefined ? {} : { baseUrl: values['base-url'] }),
    }
    return { kind: values.help ? 'help' : 'start', output: values.json ? 'json' : 'text', framework, options }
  } catch (error) {
    return argumentProblem(error, { flags: Object.keys(flags), words: ['clients'] })
  }
}

function portOf(name: string, text: string | undefined, standard: number): number {
  if (text === undefined) return standard
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port
  throw new RangeError(`${name} takes a port from 0 to 65535; 0 picks a free one`)
}

function proxiesOf(text: string): number {
  const { least, most } = optionRanges.trustedProxies
  if (/^\d{1,2}$/.test(text) && Number(text) <= most) return Number(text)
  throw new RangeError(`--trusted-proxies takes how many proxies are before the service, from ${least} to ${most}`)
}
