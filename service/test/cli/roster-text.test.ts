import { expect, onTestFinished, test, vi } from 'vitest'
import { environmentText, rosterText } from '../../src/cli/texts.ts'
import { createService } from '../support/start.ts'

test.each([
  ['', 'agent-service'],
  ['npx', 'npx agent-service'],
])(
  'a later start by %j says that secrets are stored as hashes, and which command of %s makes another',
  async (by, name) => {
    vi.stubEnv('npm_lifecycle_event', by)
    onTestFinished(() => void vi.unstubAllEnvs())
    const service = await createService()
    onTestFinished(service.close)
    const people = service.people.map((person) => ({ ...person, password: '' }))
    const clients = service.clients.map(({ clientSecret: _, ...client }) => client)
    const later = { ...service, people, clients }
    const id = clients.find(({ kind }) => kind === 'confidential')?.clientId
    const text = rosterText(later, { dataFile: 'service.db' })
    const [reset, rotate] = ['reset-password ada@demo.example', `clients rotate-secret --client ${id}`]
    expect(text).toContain(`  ada@demo.example  (stored as a hash; ${name} ${reset} --data service.db makes another)\n`)
    expect(text).toContain(`    secret (stored as a hash; ${name} ${rotate} --data service.db makes another)\n`)
    expect(environmentText(later, 'node', { dataFile: 'my data.db' })).toContain(
      `\n# AGENT_CLIENT_SECRET is stored as a hash; ${name} ${rotate} --data 'my data.db' makes another\n`,
    )
    expect(rosterText(later, { databaseUrl: 'postgresql://u:hidden@h/d' })).toContain(
      `; ${name} ${rotate} makes another)\n`,
    )
    expect(rosterText(service, {})).not.toContain('stored as')
  },
)

test('a user without permissions is listed with "no permissions"', async () => {
  const service = await createService()
  onTestFinished(service.close)
  const gil = service.people
    .filter(({ email }) => email === 'gil@demo.example')
    .map((one) => ({ ...one, permissions: [] }))
  expect(rosterText({ ...service, people: gil }, {})).toContain(', tenant demo: no permissions\n')
})
