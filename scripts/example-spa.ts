import { fileURLToPath } from 'node:url'
import type { Client, Service } from 'agent-service'
import type { PreviewServer } from 'vite'
import { announce, buildPackages, checkPort, clientOf, portFrom, untilStopped } from './example.ts'
import { exitCodes, runCommand } from './flags.ts'

const help = `Usage: npm run example:spa [-- --port N]
       npm run example:react [-- --port N]

Starts agent-service, builds the example against it and serves it under a strict Content-Security-Policy. Prints where it
is and the accounts to sign in with; stop it with Ctrl-C.

  --port N    where the app is served on 127.0.0.1; default 5173
  -h, --help  this text

Exit codes: 0 stopped by Ctrl-C, 1 something could not be started, 2 the arguments are wrong.
`

const [example = '', ...args] = process.argv.slice(2)
const name = example === 'react-spa' ? 'example:react' : 'example:spa'
const options = { port: { type: 'string', default: '5173' } } as const

await runCommand({ name, help, options, args }, async (values) => {
  const port = portFrom(values.port)
  if (port === undefined) {
    process.stderr.write(`${name}: --port takes a number from 1 to 65535\n`)
    return exitCodes.usage
  }
  await checkPort(port)
  const origin = `http://127.0.0.1:${port}`
  const stopped = untilStopped()
  const { startService } = await import('agent-service')
  const [service] = await Promise.all([
    startService({ dev: 'on', tokenClaims: 'profile', redirectUris: [`${origin}/callback`] }),
    buildPackages(),
  ])
  try {
    const client = clientOf(service, 'public')
    const server = await serve(service, client, port)
    announce(origin, service, client)
    await stopped
    await server.close()
  } finally {
    await service.close()
  }
  return exitCodes.ok
})

async function serve({ authUrl, baseUrl }: Service, client: Client, port: number): Promise<PreviewServer> {
  const { build, preview } = await import('vite')
  Object.assign(process.env, {
    VITE_AGENT_AUTH_URL: authUrl,
    VITE_AGENT_BASE_URL: baseUrl,
    VITE_AGENT_PUBLIC_CLIENT_ID: client.clientId,
  })
  const root = fileURLToPath(new URL(`../examples/${example}`, import.meta.url))
  await build({ root, logLevel: 'error' })
  const policy = [
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'",
    `connect-src ${authUrl} ${baseUrl}; frame-ancestors 'none'; require-trusted-types-for 'script'`,
  ]
  const headers = { 'content-security-policy': policy.join('; '), 'referrer-policy': 'no-referrer' }
  return preview({ root, logLevel: 'error', preview: { port, host: '127.0.0.1', strictPort: true, headers } })
}
