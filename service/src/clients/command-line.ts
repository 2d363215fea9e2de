import { parseArgs } from 'node:util'
import { whereData } from '../where-data.ts'

export const actions = ['create', 'list', 'activate', 'deactivate', 'rotate-secret', 'retire-secret'] as const
export type Action = (typeof actions)[number]

export interface ClientsCommand {
  action: Action
  location: { dataFile?: string; databaseUrl?: string }
  output: 'text' | 'json'
  tenant: string | undefined
  client: string | undefined
  secret: string | undefined
  name: string
  kind: string
  redirectUris: string[]
}

/** Which options an action cannot do without. */
const needed: Record<Action, ('tenant' | 'name' | 'client' | 'secret')[]> = {
  create: ['tenant', 'name'],
  list: [],
  activate: ['client'],
  deactivate: ['client'],
  'rotate-secret': ['client'],
  'retire-secret': ['client', 'secret'],
}

/** A command, the wish for help, or what is wrong with the arguments. */
export function readClientsCommand(
  args: string[],
): { kind: 'command'; command: ClientsCommand } | { kind: 'help' } | { kind: 'usage'; problem: string } {
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        help: { type: 'boolean', short: 'h', default: false },
        json: { type: 'boolean', default: false },
        data: { type: 'string' },
        tenant: { type: 'string' },
        client: { type: 'string' },
        secret: { type: 'string' },
        name: { type: 'string' },
        kind: { type: 'string', default: 'public' },
        'redirect-uri': { type: 'string', multiple: true, default: [] },
      },
    })
    if (values.help) return { kind: 'help' }
    const action = actions.find((known) => known === positionals[0])
    if (action === undefined || positionals.length > 1) return usage(`clients takes one of ${actions.join(', ')}`)
    const location = whereData(values.data)
    if (Object.keys(location).length === 0) return usage('clients needs --data FILE or DATABASE_URL')
    const missing = needed[action].find((name) => values[name] === undefined)
    if (missing !== undefined) return usage(`clients ${action} needs --${missing}`)
    const { tenant, client, secret, name = '', kind, 'redirect-uri': redirectUris } = values
    const output = values.json ? 'json' : 'text'
    return { kind: 'command', command: { action, location, output, tenant, client, secret, name, kind, redirectUris } }
  } catch (error) {
    return usage(error instanceof Error ? error.message : 'unknown arguments')
  }
}

function usage(problem: string): { kind: 'usage'; problem: string } {
  return { kind: 'usage', problem }
}

export const clientsHelpText: string = `agent-service clients: the API clients of a data file or of DATABASE_URL

  agent-service clients create --data FILE --tenant ID --name NAME [--kind public|confidential]
                               --redirect-uri URI [--redirect-uri URI …]
  agent-service clients list --data FILE [--tenant ID]
  agent-service clients activate --data FILE --client ID
  agent-service clients deactivate --data FILE --client ID
  agent-service clients rotate-secret --data FILE --client ID
  agent-service clients retire-secret --data FILE --client ID --secret ID

  --json                 print one JSON line instead of text
  -h, --help             this text

--data FILE may be left out when DATABASE_URL names a PostgreSQL database. Services may be running on the same data;
they see each change with the next request. A secret is printed once, by
create and rotate-secret. After rotate-secret the old secret works until retire-secret; list shows the ids of secrets.
Exit codes: 0 done or help, 1 it was refused or failed, 2 the arguments are wrong.
`
