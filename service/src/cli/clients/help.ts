import { storeLimits } from '../../limits.ts'
import type { Action } from './actions.ts'

const exitCodes = 'Exit codes: 0 done or help, 1 it was refused or failed, 2 the arguments are wrong.\n'

const dataLines = `  --data FILE            the data file; without it DATABASE_URL names a PostgreSQL database
  --json                 print one JSON line instead of text
  -h, --help             this text
`

const usages: Record<Action, { arguments: string; options?: string; text: string }> = {
  create: {
    arguments: '--tenant ID --name NAME --redirect-uri URI … [--kind KIND]',
    options: `  --tenant ID            whose client it is; list shows the tenants
  --name NAME            1 to 100 characters, as people see it when they are asked to approve
  --redirect-uri URI     https, or http on 127.0.0.1 or [::1] (not localhost); 1 to 10 of them
  --kind KIND            public (PKCE, no secret; what it is without this) or confidential
`,
    text: 'Registers a client, active and approved for its tenant. Prints its id and, once, its secret.',
  },
  list: {
    arguments: '[--tenant ID]',
    options: '  --tenant ID            only this one\n',
    text: 'Shows clients with their redirect URIs and the ids of their secrets, never a secret.',
  },
  history: {
    arguments: '[--tenant ID] [--client ID]',
    options: '  --tenant, --client ID  only this one\n',
    text: `Shows who changed which client when, newest first; at most the last ${storeLimits.registryChanges} changes of a tenant.`,
  },
  activate: { arguments: '--client ID', text: 'Lets a client in again, from the next request on.' },
  deactivate: { arguments: '--client ID', text: 'Shuts a client out, from the next request on.' },
  'rotate-secret': {
    arguments: '--client ID',
    text: 'Makes a second secret and prints it once. The first works until retire-secret.',
  },
  'retire-secret': {
    arguments: '--client ID --secret ID',
    options: '  --secret ID            the id of the secret, as list shows it\n',
    text: 'Ends one of two secrets.',
  },
}

/** The help of one action, or of all of them. */
export function clientsHelp(action: Action | undefined): string {
  if (action !== undefined) {
    const usage = usages[action]
    const first = `agent-service clients ${action} --data FILE ${usage.arguments}\n\n${usage.text}\n`
    return `${first}\n${usage.options ?? ''}${dataLines}\n${exitCodes}`
  }
  const lines = Object.entries(usages).map(([name, usage]) => `  ${name.padEnd(14)} ${usage.arguments}\n`)
  return `agent-service clients: the API clients of a data file or of DATABASE_URL

  agent-service clients ACTION --data FILE …
  agent-service clients ACTION --help

Actions:
${lines.join('')}
${dataLines}
Services may be running on the same data; they see each change with the next request. Each change is kept with the data,
in the same trail as those made on the pages: history shows it.
${exitCodes}`
}
