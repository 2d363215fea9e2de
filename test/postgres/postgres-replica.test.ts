import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { patient } from '../support/patient.ts'
import type { PostgresNode } from '../support/postgres-node.ts'
import { promote, replayed, setReplication, startPrimary, startStandby } from '../support/postgres-replica.ts'
import { codeOf, sessionRig } from '../support/session-rig.ts'
import { onPostgres } from '../support/shared-stores.ts'
import { tcpProxy } from '../support/tcp-proxy.ts'

const hour = 3_600_000
const retryable = { code: 'storage_failed', retryable: true }

/** The servers of this file. Each test promotes the standby of the one before. */
const servers: PostgresNode[] = []
let primary: PostgresNode
let standby: PostgresNode
/** The address of the database, which moves to the standby with its promotion. */
let address: Awaited<ReturnType<typeof tcpProxy>>

beforeAll(async () => {
  primary = await startPrimary()
  servers.push(primary)
  address = await tcpProxy({ target: () => primary.port })
})
afterAll(async () => {
  await address.close()
  await Promise.all(servers.map((server) => server.stop()))
})

async function addStandby(): Promise<void> {
  standby = await startStandby(primary)
  servers.push(standby)
}

/** Loses the primary, and moves its address to the standby. */
async function failOver(): Promise<void> {
  await primary.crash()
  await promote(standby)
  primary = standby
  address.cut()
}

/** Two processes, each with a pool of its own, and a user who is signed in. */
async function signedIn(reuse: 'revoke' | 'grace' = 'revoke') {
  const url = new URL(primary.url)
  url.port = String(address.port)
  const rig = sessionRig(undefined, { reuse })
  const realm = async () => {
    const { storage, close } = await onPostgres(url.href)
    onTestFinished(close)
    return rig.realm({ storage })
  }
  const [here, there] = [await realm(), await realm()]
  await here.session.signIn(rig.service.issue())
  expect((await there.session.ready()).status).toBe('signed-in')
  /** Lets the token expire and asks both for one, until none of them meets a connection that broke. */
  const refreshed = async (): Promise<void> => {
    rig.clock.advance(hour)
    const ask = async () => {
      rig.clock.advance(6_000)
      return Promise.all([here, there].map(({ session }) => codeOf(session.getAccessToken())))
    }
    await expect.poll(async () => (await ask()).every((outcome) => outcome !== 'storage_failed')).toBe(true)
    const [one, two] = await ask()
    expect(one).toEqual({ resolved: expect.any(String) })
    expect(two).toEqual(one)
  }
  const expectNoneEnded = (): void => {
    for (const { session, eventsOf } of [here, there]) {
      expect(session.state.status).toBe('signed-in')
      expect(eventsOf('session_ended')).toEqual([])
    }
  }
  return { ...rig, here, there, realm, refreshed, expectNoneEnded }
}

test('after a promotion pools reconnect, and a session is refreshed once', async () => {
  patient()
  const rig = await signedIn()
  await addStandby()
  await replayed(primary, standby)
  await failOver()
  await rig.refreshed()
  expect(rig.service.sent).toHaveLength(1)
  rig.expectNoneEnded()
  await rig.here.session.signOut()
  expect(await codeOf((await rig.realm()).session.getAccessToken())).toBe('login_required')
})

test('an asynchronous standby that lacks a refresh: the older token is sent within the grace period, and no user is signed out', async () => {
  patient()
  const rig = await signedIn('grace')
  await addStandby()
  await standby.crash()
  await rig.refreshed()
  const before = rig.service.sent.length
  expect(before).toBeGreaterThanOrEqual(1)
  await primary.crash()
  await standby.restart()
  await failOver()
  // A process that does not have the newer tokens in memory.
  const later = await rig.realm()
  expect(await codeOf(later.session.getAccessToken())).toEqual({ resolved: expect.any(String) })
  // A call whose response was lost sends the same token again.
  expect(rig.service.sent.length).toBeGreaterThan(before)
  expect(new Set(rig.service.sent).size).toBe(1)
})

test('a synchronous standby: what was confirmed is there after the primary is lost, and without the standby writes fail in time', async () => {
  await addStandby()
  await setReplication(primary, 'synchronous')
  const rig = await signedIn()
  await rig.refreshed()
  standby.halt()
  const { storage, close } = await onPostgres(primary.url)
  onTestFinished(close)
  await expect(storage.setItem('name', 'value')).rejects.toMatchObject(retryable)
  standby.continue()
  await expect.poll(() => codeOf(storage.setItem('name', 'value'))).toEqual({ resolved: undefined })
  await failOver()
  await setReplication(primary, 'asynchronous')
  await rig.refreshed()
  expect(rig.service.sent).toHaveLength(2)
  rig.expectNoneEnded()
})
