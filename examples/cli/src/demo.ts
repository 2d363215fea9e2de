import { startService } from 'agent-service'
import { listenForCallback } from './callback-listener.ts'
import { logIn, type Stage } from './login-steps.ts'
import { createNarrator } from './narrator.ts'
import { callApi, expireAndRefresh, forceRefresh, signOut } from './session-steps.ts'

const help = `Usage: npm run demo

Starts agent-service on two loopback ports and runs two complete logins: authorize URL, sign-in, consent, callback,
exchange, API calls, expiry, one refresh for many calls, sign-out. It prints secrets as fingerprints.

Exit codes: 0 if all steps worked, 1 if one failed, 2 for an unknown argument.`

async function main(): Promise<void> {
  const print = (line: string): boolean => process.stdout.write(`${line}\n`)
  const [argument] = process.argv.slice(2)
  if (argument !== undefined) {
    const isHelp = /^(-h|--help)$/.test(argument)
    if (isHelp) print(help)
    else process.stderr.write(`demo: unknown argument '${argument}'\nTry npm run demo -- --help\n`)
    process.exitCode = isHelp ? 0 : 2
    return
  }
  const narrator = createNarrator(print)
  const listener = await listenForCallback()
  narrator.step('Start agent-service: two origins, one process, an in-memory database')
  const service = await startService({ dev: 'on', tokenClaims: 'profile', redirectUris: [listener.redirectUri] })
  const stage: Stage = { narrator, service, listener }
  try {
    narrator.line(`authorization ${service.authUrl}   API ${service.baseUrl}`)
    const session = await logIn(stage, 'public')
    await callApi(stage, session)
    await expireAndRefresh(stage, session)
    const second = await logIn(stage, 'confidential')
    await forceRefresh(stage, second)
    await signOut(stage, 'public', session)
    await signOut(stage, 'confidential', second)
  } finally {
    await Promise.all([service.close(), listener.close()])
  }
  print('\ndemo: login flow complete')
}

main().catch((error: unknown) => {
  process.stderr.write(`demo: failed\n${error instanceof Error ? error.stack : String(error)}\n`)
  process.exitCode = 1
})
