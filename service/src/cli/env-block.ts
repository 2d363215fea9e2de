import { commandName } from '../command-name.ts'
import { randomSecret } from '../credentials/secrets.ts'
import type { Framework } from '../options.ts'
import type { Client, Service } from '../service.ts'
import type { ServiceOptions } from '../service-options.ts'
import { dataFlag } from './texts.ts'

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
