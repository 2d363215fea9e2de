import { parseArgs } from 'node:util'
import { readClientForm } from '../../clients/client-form.ts'
import { nearName } from '../../near-name.ts'
import { argumentProblem } from '../argument-problem.ts'
import { whereData } from '../where-data.ts'
import { type Action, actions } from './actions.ts'
import { clientsHelp } from './help.ts'

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

const flags = {
  help: { type: 'boolean', short: 'h', default: false },
  json: { type: 'boolean', default: false },
  data: { type: 'string' },
  'database-url': { type: 'string' },
  tenant: { type: 'string' },
  client: { type: 'string' },
  secret: { type: 'string' },
  name: { type: 'string' },
  kind: { type: 'string', default: 'public' },
  'redirect-uri': { type: 'string', multiple: true, default: [] as string[] },
} as const

/** The options that an action needs. */
const needed: Record<Action, ('tenant' | 'name' | 'client' | 'secret')[]> = {
  create: ['tenant', 'name'],
  list: [],
  history: [],
  activate: ['client'],
  deactivate: ['client'],
  'rotate-secret': ['client'],
  'retire-secret': ['client', 'secret'],
}

/** Reads a command, a request for help, or what is wrong with the arguments. */
export function readClientsCommand(
  args: string[],
): { kind: 'command'; command: ClientsCommand } | { kind: 'help'; text: string } | { kind: 'usage'; problem: string } {
  try {
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options: flags })
    const action = actions.find((known) => known === positionals[0])
    if (values.help) return { kind: 'help', text: clientsHelp(action) }
    if (action === undefined) return usage(actionProblem(positionals))
    if (positionals.length > 1) return usage(extraWordProblem(action))
    const location = whereData({ data: values.data, 'database-url': values['database-url'] }, process.env)
    if (Object.keys(location).length === 0) return usage('clients needs --data FILE or DATABASE_URL')
    const missing = needed[action].find((name) => values[name] === undefined)
    if (missing !== undefined) return usage(`clients ${action} needs --${missing}`)
    const { tenant, client, secret, name = '', kind, 'redirect-uri': redirectUris } = values
    const form = action === 'create' ? readClientForm({ name, kind, redirectUris }) : undefined
    if (form?.kind === 'refused') return usage(`${form.problem}; see --name, --kind and --redirect-uri`)
    const output = values.json ? 'json' : 'text'
    return { kind: 'command', command: { action, location, output, tenant, client, secret, name, kind, redirectUris } }
  } catch (error) {
    return usage(argumentProblem(error, { args, flags: Object.keys(flags), words: actions }))
  }
}

function actionProblem([first = '']: readonly string[]): string {
  const meant = nearName(first, actions)
  return `clients takes one of ${actions.join(', ')}${meant === undefined ? '' : `; did you mean ${meant}?`}`
}

function extraWordProblem(action: Action): string {
  const options = needed[action].map((name) => `--${name}`).join(' and ')
  return `clients ${action} takes options only${options === '' ? '' : `, and needs ${options}`}`
}

function usage(problem: string): { kind: 'usage'; problem: string } {
  return { kind: 'usage', problem }
}
