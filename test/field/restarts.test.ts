import { expect, test } from 'vitest'
import { codeOf, sessionRig } from '../support/session-rig.ts'
import { sharedRecords } from '../support/shared-records.ts'

const hourMs = 3_600_000

test('over ten lives with a new client in each, an expired token is refreshed once before its first use', async () => {
  const { clock, service, realm } = sessionRig()
  const records = sharedRecords()
  const tokens = service.issue()
  await realm({ storage: records.handle() }).session.signIn(tokens)
  const used = [tokens.accessToken]
  for (let life = 1; life <= 10; life++) {
    clock.advance(hourMs)
    const { session } = realm({ storage: records.handle() })
    expect((await session.ready()).status).toBe('signed-in')
    const token = await session.getAccessToken()
    expect(used).not.toContain(token)
    expect(await session.getAccessToken()).toBe(token)
    expect(service.sent).toHaveLength(life)
    used.push(token)
  }
})

test('a client that ends in the middle of a refresh leaves nothing that stops the next one', async () => {
  const { clock, service, realm } = sessionRig(undefined, { reuse: 'grace' })
  const records = sharedRecords()
  await realm({ storage: records.handle() }).session.signIn(service.issue())
  clock.advance(hourMs)
  // Its lock ended with it, as those of a page and of a file do.
  service.answer('hang')
  const ended = realm({ storage: records.handle({ lock: false }) }).session
  void ended.getAccessToken().catch(() => {})
  await expect.poll(() => service.sent.length).toBe(1)
  const { session } = realm({ storage: records.handle() })
  expect(service.familyOf(await session.getAccessToken())).toBe(1)
  expect(service.sent).toHaveLength(2)
})

test.each([
  ['a valid session', 0, 'ok', ['signed-in']],
  ['an expired session', 2 * hourMs, 'ok', ['signed-in']],
  ['an expired session, offline', 2 * hourMs, 'unreachable', ['signed-in']],
  ['no session', undefined, 'ok', ['signed-out']],
  ['no session, offline', undefined, 'unreachable', ['signed-out']],
] as const)('a start with %s leaves loading once, and never for the other page', async (_, ageMs, answer, told) => {
  const { clock, service, realm } = sessionRig()
  const records = sharedRecords()
  if (ageMs !== undefined) await realm({ storage: records.handle() }).session.signIn(service.issue())
  clock.advance(ageMs ?? 0)
  service.usually(answer)
  const here = realm({ storage: records.handle({ step: () => Promise.resolve() }) })
  expect(here.session.state).toEqual({ status: 'loading' })
  const [status] = told
  expect(await here.session.ready()).toMatchObject({ status })
  await codeOf(here.session.getAccessToken())
  expect(new Set(here.told)).toEqual(new Set(told))
})

test('a slow read at the start does not replace a sign-in that ended before it', async () => {
  const { clock, service, realm } = sessionRig()
  const records = sharedRecords()
  const earlier = service.issue()
  await realm({ storage: records.handle() }).session.signIn(earlier)
  let release = (): void => {}
  const slow = new Promise<void>((resolve) => {
    release = resolve
  })
  const inner = records.handle()
  let reads = 0
  // Reads the earlier record at once, and returns it late.
  const getItem = async (key: string): Promise<string | null | undefined> => {
    const [isFirst, text] = [++reads === 1, await inner.getItem(key)]
    if (isFirst) await slow
    return text
  }
  const { session } = realm({ storage: { ...inner, getItem } })
  const ready = session.ready()
  // The times of the two sign-ins must not decide.
  clock.jumpWall(-2 * hourMs)
  const next = service.issue()
  await session.signIn(next)
  const shown = new Set([session.state.sessionRef])
  session.subscribe(() => shown.add(session.state.sessionRef))
  release()
  await ready
  expect(await session.getAccessToken()).toBe(next.accessToken)
  expect(shown.size).toBe(1)
  expect(records.record()).toMatchObject({ accessToken: next.accessToken })
})
