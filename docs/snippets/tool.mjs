import { homedir } from 'node:os'
import { join } from 'node:path'
import { createAuthConfig, createBearerFetch, createSession } from 'agent-auth'
import { createAgentApi } from 'agent-auth/api'
import { fileStorage, signInWithLoopback } from 'agent-auth/node'

const file = join(homedir(), '.config', 'my-tool', 'sessions.json')
const storage = fileStorage(file)

async function run(command) {
  const config = createAuthConfig({
    authUrl: process.env.AGENT_AUTH_URL ?? '',
    baseUrl: process.env.AGENT_BASE_URL ?? '',
    clientId: process.env.AGENT_PUBLIC_CLIENT_ID ?? '',
    redirectUri: 'http://127.0.0.1/callback',
  })
  const { baseUrl } = config
  const session = createSession(config, { storage })
  if (command === 'login') {
    await storage.ready() // rejects if the file cannot be used
    await session.signIn(await signInWithLoopback(config))
    // signIn resolves also if it saved nothing. This reads the file again.
    const { status } = await createSession(config, { storage }).ready()
    if (status !== 'signed-in') throw new Error('The session was not saved.')
    console.log('Signed in.')
  } else if (command === 'logout') {
    await session.signOut()
    console.log('Signed out.')
  } else if (command === 'whoami' || command === 'agents') {
    const { status } = await session.ready()
    if (status !== 'signed-in') throw new Error('Run "login" first.')
    if (command === 'whoami') return console.log(session.claims?.subject)
    const fetch = createBearerFetch(session, { baseUrl })
    const api = createAgentApi({ baseUrl, fetch })
    const { items } = await api.parentAgents.search({ limit: 5 })
    for (const { id, agent_name } of items) console.log(id, agent_name)
  } else throw new Error('Use "login", "whoami", "agents" or "logout".')
}

try {
  await run(process.argv[2])
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
}
