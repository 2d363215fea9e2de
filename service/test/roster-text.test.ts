import { expect, onTestFinished, test, vi } from 'vitest'
import { rosterText } from '../src/cli/texts.ts'
import { createService } from './start.ts'

test('a later start says that passwords and secrets are stored as hashes, and which command makes another', async () => {
  vi.stubEnv('npm_lifecycle_event', '')
  onTestFinished(() => void vi.unstubAllEnvs())
  const service = await createService()
  onTestFinished(service.close)
  const { authUrl, baseUrl, fetch, dev, close } = service
  const people = service.people.map((person) => ({ ...person, password: '' }))
  const clients = service.clients.map(({ clientSecret: _, ...client }) => client)
  const text = rosterText({ authUrl, baseUrl, fetch, dev, close, people, clients })
  expect(text).toContain('  ada@demo.example  (stored as a hash; agent-service reset-password makes another)\n')
  expect(text).toContain('    secret (stored as a hash; agent-service clients rotate-secret makes another)\n')
  expect(rosterText(service)).not.toContain('stored as')
})

test('a user without permissions is listed with "no permissions"', async () => {
  const service = await createService()
  onTestFinished(service.close)
  const gil = service.people
    .filter(({ email }) => email === 'gil@demo.example')
    .map((one) => ({ ...one, permissions: [] }))
  expect(rosterText({ ...service, people: gil })).toContain(', tenant demo: no permissions\n')
})
