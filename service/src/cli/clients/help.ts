import { storeLimits } from '../../limits.ts'
import type { Action } from './actions.ts'

const exitCodes = 'Exit codes: 0 done or help, 1 refused or failed, 2 wrong arguments.\n'

const dataLines = `  --data FILE            the data file; without it DATABASE_URL names a PostgreSQL database
  --json                 print one JSON line instead of text
  -h, --help             this text
`

const usages: Record<Action, { arguments: string; options?: string; text: string }> = {
  create: {
    arguments: '--tenant ID --name NAME --redirect-uri URI … [--kind KIND]',
    options: `  --tenant ID            the tenant of the client; list shows the tenants
  --name NAME            1 to 100 characters; users see it on the consent page
  --redirect-uri URI     https, or http on 127.0.0.1 or [::1] (not localhost); 1 to 10 of them
  --kind KIND            public (default: PKCE, no secret) or confidential
`,
    text: 'Registers a client, active and approved for its tenant. Prints its id and, once, its secret.',
  },
  list: {
    arguments: '[--tenant ID]',
    options: '  --tenant ID            only this one\n',
    text: 'Lists clients with their redirect URIs and the ids of their secrets, never a secret.',
  },
  history: {
    arguments: '[--tenant ID] [--client ID]',
    options: '  --tenant, --client ID  only this one\n',
    text: `Lists who changed which client and when, newest first; at most the last ${storeLimits.registryChanges} changes of a tenant.`,
  },
  activate: { arguments: '--client ID', text: 'Activates a client. Takes effect with its next request.' },
  deactivate: { arguments: '--client ID', text: 'Deactivates a client. Takes effect with its next request.' },
  'rotate-secret': {
    arguments: '--client ID',
    text: 'Creates a second secret and prints it once. The first works until retire-secret.',
  },
  'retire-secret': {
    arguments: '--client ID --secret ID',
    options: '  --secret ID            the id of the secret, as list shows it\n',
    text: 'Ends one of two secrets.',
  },
}

/** Returns the help of one action, or of all of them. */
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
A service may run on the same data. It sees each change with its next request. The history is kept with the data and also
has the changes that admins made on the pages.
${exitCodes}`
}
