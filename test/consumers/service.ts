import { startService } from '../../service/src/index.ts'

/** What a program in a project is told, as its first argument in JSON. */
export type Settings = string

const redirectUri = 'https://app.demo.example/callback'
/** For projects with a backend. */
const backendCallback = 'https://app.demo.example/auth/callback'

/** Runs a task while agent-service is there on loopback and approves each login of one user by itself. */
export async function withService(task: (settings: Settings) => Promise<void>): Promise<void> {
  const service = await startService({ dev: 'on', authPort: 0, basePort: 0, redirectUris: [backendCallback] })
  try {
    service.dev.autoApprove(service.people.find(({ tenant }) => tenant === 'demo')?.email)
    const clientId = service.clients.find(({ name }) => name === 'Demo public')?.clientId
    await task(JSON.stringify({ authUrl: service.authUrl, baseUrl: service.baseUrl, clientId, redirectUri }))
  } finally {
    await service.close()
  }
}
