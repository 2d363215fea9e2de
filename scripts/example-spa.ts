import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { startService } from 'agent-service'
import { build, preview } from 'vite'

const help = `Usage: npm run example:spa [-- --port N]
       npm run example:react [-- --port N]

Starts agent-service, builds the example against it and serves it under a strict Content-Security-Policy. Prints where it
is and the accounts to sign in with; stop it with Ctrl-C.

  --port N    where the app is served on 127.0.0.1; default 5173
  -h, --help  this text

Exit codes: 0 stopped by Ctrl-C, 1 something could not be started, 2 the arguments are wrong.
`

const examples = ['spa', 'react-spa']

interface Arguments {
  readonly example: string
  readonly port: number
}

function readArguments(): Arguments | 'help' | 'wrong' {
  try {
    const options = { port: { type: 'string', default: '5173' }, help: { type: 'boolean', short: 'h' } } as const
    const { values, positionals } = parseArgs({ options, allowPositionals: true })
    const [example = '', ...more] = positionals
    const port = Number(values.port)
    if (values.help) return 'help'
    const isPort = Number.isInteger(port) && port > 0 && port < 65_536
    return isPort && examples.includes(example) && more.length === 0 ? { example, port } : 'wrong'
  } catch {
    return 'wrong'
  }
}

async function main(): Promise<void> {
  const wanted = readArguments()
  if (typeof wanted === 'string') {
    process.stdout.write(help)
    process.exitCode = wanted === 'help' ? 0 : 2
    return
  }
  const origin = `http://127.0.0.1:${wanted.port}`
  const service = await startService({ dev: 'on', redirectUris: [`${origin}/callback`] })
  const { authUrl, baseUrl, clients, people } = service
  const client = clients.find(({ kind }) => kind === 'public')
  Object.assign(process.env, {
    VITE_AGENT_AUTH_URL: authUrl,
    VITE_AGENT_BASE_URL: baseUrl,
    VITE_AGENT_PUBLIC_CLIENT_ID: client?.clientId,
  })
  const root = fileURLToPath(new URL(`../examples/${wanted.example}`, import.meta.url))
  await build({ root, logLevel: 'error' })
  const policy = [
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'",
    `connect-src ${authUrl} ${baseUrl}; frame-ancestors 'none'; require-trusted-types-for 'script'`,
  ]
  const headers = { 'content-security-policy': policy.join('; '), 'referrer-policy': 'no-referrer' }
  const server = await preview({
    root,
    logLevel: 'error',
    preview: { port: wanted.port, host: '127.0.0.1', strictPort: true, headers },
  })
  const accounts = people.map(({ email, password }) => `  ${email}   ${password}`)
  process.stdout.write(`\n${origin}/\n\nSign in with one of these:\n${accounts.join('\n')}\n\nStop with Ctrl-C.\n`)
  const stop = (): void => {
    void Promise.allSettled([server.close(), service.close()]).then(() => process.exit(0))
  }
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
}

main().catch((error) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
})
