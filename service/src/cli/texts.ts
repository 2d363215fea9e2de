import { commandName, shellWord } from '../command-name.ts'
import { throttlePolicies } from '../credentials/throttle-policies.ts'
import { randomSecret } from '../credentials/tokens.ts'
import { inMebibytes } from '../http/messages.ts'
import { credentialLimits, limits } from '../limits.ts'
import { commandOptions, type Framework, type Option, serviceOptions } from '../options.ts'
import type { Client, Service } from '../service.ts'
import type { ServiceOptions } from '../service-options.ts'
import type { ThrottlePolicy } from '../state.ts'

export const helpText: string = `agent-service: the Agent Management Service on this machine

  agent-service [options]
  agent-service clients ACTION [options]
                         manage API clients; clients --help lists the actions
  agent-service export [options]
                         write the data as a seed for --seed; export --help has the options
  agent-service backup FILE --data SOURCE
                         copy a data file, also while the service runs on it
  agent-service reset-password EMAIL --data FILE
                         give a user a new password, and sign the user out everywhere
  From a clone: npm run service -- [options]

${optionsHelp()}  -h, --help             print this text
  -v, --version          print the version

Each option is also a variable: --auth-port is AGENT_SERVICE_AUTH_PORT. A flag wins over its variable. There, a switch is on or off,
and a list has spaces between its items. --no-dev turns a switch off. If no option says where the data is, DATABASE_URL does.
Stops on SIGINT and SIGTERM, within ten seconds.
Exit codes: 0 stopped or help, 1 could not start or did not stop in time, 2 wrong arguments.

Limits of failed attempts; beyond them the response is 429 with Retry-After
  account and address, or a browser that signed in before
                         ${limitText(throttlePolicies.device)}
  account                ${limitText(throttlePolicies.account)}
  address, where proxies are trusted
                         ${limitText(throttlePolicies.signInAddress)}
  client and address     ${limitText(throttlePolicies.client)}; a right secret passes
  Each kind remembers the last ${credentialLimits.failedKeys} keys.
  Passwords are hashed on all processors but one, and ${credentialLimits.hashesWaiting} attempts wait; the next gets 503 with Retry-After.

Other limits
  agents of a tenant     ${limits.agentsPerTenant}; the next one is 409
  descriptions           ${limits.descriptionCharacters} characters; a longer one is 422
  texts in a filter      ${limits.filterCharacters} characters; a longer one is 422
  responses of the API   ${inMebibytes(limits.responseBytes)}; a larger page is 422, ask for fewer rows
  calls of one tenant    ${limits.tenantCallsAtOnce} at once, ${limits.tenantCallsWaiting} wait; the next gets 429 with Retry-After
  authorization requests ${limits.requestsPerSession} open of one sign-in session; a new one deletes the oldest
  connections of a host  ${limits.connections}
  taking a response      closed after ${limits.stalledResponseMs / 1_000} s without progress
`

function optionsHelp(): string {
  const indent = `\n${' '.repeat(25)}`
  return [...Object.values<Option>(serviceOptions), ...Object.values<Option>(commandOptions)]
    .map(({ flag, value, kind, standard, meaning }) => {
      const head = `  --${flag}${value === undefined ? '' : ` ${value}`}`
      const first = head.length < 24 ? head.padEnd(25) : `${head}${indent}`
      const text = asTyped(`${meaning}${kind === 'list' ? '; repeatable' : ''} (default: ${standard})`)
      return `${first}${text.replace(/(.{1,100})(?: |$)/g, `$1${indent}`).trimEnd()}\n`
    })
    .join('')
}

/** Names options as flags, and removes the backticks of the README. */
function asTyped(text: string): string {
  return text.replace(/`([^`]+)`/g, (_, name: string) => {
    const entry = Object.entries<Option>(serviceOptions).find(([option]) => option === name)?.[1]
    return entry === undefined ? name : `--${entry.flag}`
  })
}

function limitText({ freeFailures, firstDelayMs, longestDelayMs, stop }: ThrottlePolicy): string {
  const end = stop === undefined ? '' : `; after ${stop.failures} one a day`
  return `${freeFailures} failures, then delays from ${firstDelayMs / 1_000} s to ${longestDelayMs / 60_000} min${end}`
}

export function jsonLine({ authUrl, baseUrl, people, clients }: Service): string {
  return `${JSON.stringify({ authUrl, baseUrl, people, clients })}\n`
}

/** Returns the flag of the data file for a command to copy. It shows no URL of PostgreSQL, because that may hold a password. */
export function dataFlag({ dataFile }: ServiceOptions): string {
  return dataFile === undefined ? '' : ` --data ${shellWord(dataFile)}`
}

/** Returns names and secrets for the terminal, the only place that shows them. */
export function rosterText({ authUrl, baseUrl, people, clients }: Service, options: ServiceOptions): string {
  const kept = (command: string): string =>
    `(stored as a hash; ${commandName()} ${command}${dataFlag(options)} makes another)`
  const own = clients[0]?.tenant
  const elsewhere = (tenant: string): string =>
    tenant === own ? '' : `\n    of another tenant than the .env: only for the clients of tenant ${tenant}`
  const peopleLines = people.map(
    ({ name, email, password, tenant, permissions }) =>
      `  ${email}  ${password || kept(`reset-password ${email}`)}\n    ${name}, tenant ${tenant}: ${permissions.join(' ') || 'no permissions'}${elsewhere(tenant)}`,
  )
  const secretOf = (client: Client): string => {
    return client.kind === 'public'
      ? ''
      : `\n    secret ${client.clientSecret ?? kept(`clients rotate-secret --client ${client.clientId}`)}`
  }
  const clientLines = clients.map(
    (client) =>
      `  ${client.name} (${client.kind}, tenant ${client.tenant})\n    id ${client.clientId}${secretOf(client)}\n    ${client.redirectUris.join('\n    ')}`,
  )
  return `Agent Management Service
  authorization  ${authUrl}
  API            ${baseUrl}

People
${peopleLines.join('\n')}

Clients
${clientLines.join('\n')}
`
}

/** Returns the URLs of the pages. They come last, where a terminal shows them. */
export function placesText({ authUrl, baseUrl }: Service, dev: ServiceOptions['dev']): string {
  const controls = dev === 'on' ? `\n  dev controls   ${authUrl}/_dev` : ''
  return `\nPages\n  description    ${baseUrl}/openapi.json\n  API clients    ${authUrl}/auth/v1/clients${controls}\n\nStop with Ctrl-C.\n`
}

/**
 * Returns what an application needs, ready to paste. Pages get the public client alone, under the prefix that their
 * framework asks for. A backend gets the confidential client and a key for its cookies. Pages built by Vite have an .env
 * of their own, so their backend's lines are a second file. Without a framework the names have no prefix.
 */
export function environmentText(
  { authUrl, baseUrl, clients }: Service,
  framework: Framework | undefined,
  options: ServiceOptions,
): string {
  const own = clients.filter(({ tenant }) => tenant === clients[0]?.tenant)
  const urls = [`AGENT_AUTH_URL=${authUrl}`, `AGENT_BASE_URL=${baseUrl}`]
  const publicLines = publicClientLines(own.find(({ kind }) => kind === 'public'))
  const backendLines = [
    ...confidentialLines(
      own.find(({ kind }) => kind === 'confidential'),
      options,
    ),
    `COOKIE_SECRET=${randomSecret()}`,
  ]
  const under = (prefix: string): string[] => [...urls, ...publicLines].map((line) => prefix + line)
  const backend = [...urls, ...backendLines]
  const files: Record<string, string[]> = {
    vite: { '.env': under('VITE_'), '.env of a backend': backend },
    next: { '.env': [...backend, ...under('NEXT_PUBLIC_')] },
    node: { '.env': backend },
    all: { '.env': [...urls, ...publicLines, ...backendLines] },
  }[framework ?? 'all']
  return Object.entries(files)
    .map(([name, lines]) => `\n${name}\n${lines.join('\n')}\n`)
    .join('')
}

function publicClientLines(client: Client | undefined): string[] {
  return client === undefined ? [] : [`AGENT_PUBLIC_CLIENT_ID=${client.clientId}`]
}

/** Returns the client's lines. If only the hash of the secret is left, a comment replaces the secret. */
function confidentialLines(client: Client | undefined, options: ServiceOptions): string[] {
  if (client === undefined) return []
  const { clientId, clientSecret } = client
  return [
    `AGENT_CLIENT_ID=${clientId}`,
    clientSecret === undefined
      ? `# AGENT_CLIENT_SECRET is stored as a hash; ${commandName()} clients rotate-secret --client ${clientId}${dataFlag(options)} makes another`
      : `AGENT_CLIENT_SECRET=${clientSecret}`,
  ]
}
