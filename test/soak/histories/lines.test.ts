import { expect, test } from 'vitest'
import type { HistoryEvent } from '../checker/history.ts'
import { lineRecorder } from './lines.ts'

const answer = (refresh: string): Response =>
  Response.json({ access_token: `access-${refresh}`, refresh_token: refresh })
const refusal = (): Response => Response.json({ error: 'invalid_grant' }, { status: 400 })
const refreshOf = (token: string): string => JSON.stringify({ refresh_token: token })

/** What is recorded if a refresh token is used twice, and the second request has these headers. */
async function recordedReuse(headers: Record<string, string>): Promise<unknown[]> {
  const events: unknown[] = []
  const line = lineRecorder((event) => void events.push(event))
  await line('code=code', answer('first'), new Headers())
  await line(refreshOf('first'), answer('second'), new Headers({ 'x-holder': 'p1.0/3' }))
  await line(refreshOf('first'), refusal(), new Headers(headers))
  return events
}

test('a token request is recorded with its sender', async () => {
  const sent = { 'x-process': 'p2.0', 'x-holder': 'p2.0/1', 'x-sent-ms': '4000.5' }
  expect(await recordedReuse(sent)).toMatchObject([
    { type: 'issued', generation: 0 },
    { type: 'issued', generation: 1, holder: 'p1.0/3' },
    { type: 'refused', generation: 0, why: 'reused', process: 'p2.0', holder: 'p2.0/1', sentMs: 4_000.5 },
  ])
})

test('a token request that does not say when and by whom it was sent is recorded without both', async () => {
  const [issued, , refused] = (await recordedReuse({})) as HistoryEvent[]
  expect(issued).not.toHaveProperty('holder')
  expect(Object.keys(refused ?? {}).sort()).toEqual(['generation', 'line', 'type', 'why'])
})
