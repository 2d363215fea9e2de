import { homedir } from 'node:os'
import { join } from 'node:path'
import { createAuthConfig, createBearerFetch, createSession } from 'agent-auth'
import { createAgentApi } from 'agent-auth/api'
import { fileStorage, signInWithLoopback } from 'agent-auth/node'

const file = join(homedir(), '.config', 'my-tool', 'sessions.json')

async function run(command) {
  const config = createAuthConfig({
    authUrl: process.env.AGENT_AUTH_URL ?? '',
    baseUrl: process.env.AGENT_BASE_URL ?? '',
    clientId: process.env.AGENT_PUBLIC_CLIENT_ID ?? '',
    redirectUri: 'http://127.0.0.1/callback',
  })
  const { baseUrl } = config
  const session = createSession(config, { storage: fileStorage(file) })
  if (command === 'login') {
    await session.signIn(await signInWithLoopback(config))
    console.log('Signed in.')
  } else if (command === 'agents') {
    const { status } = await session.ready()
    if (status !== 'signed-in') throw new Error('Run "login" first.')
    const fetch = createBearerFetch(session, { baseUrl })
    const api = createAgentApi({ baseUrl, fetch })
    const { items } = await api.parentAgents.search({ limit: 5 })
    for (const { id, agent_name } of items) console.log(id, agent_name)
  } else if (command === 'logout') {
    await session.signOut()
    console.log('Signed out.')
  } else throw new Error('Use "login", "agents" or "logout".')
}

try {
  await run(process.argv[2])
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
}
