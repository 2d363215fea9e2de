import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase } from '../../../test/support/fresh-database.ts'
import { serverUrl } from '../../../test/support/servers-client.ts'
import {
  agentSearch,
  authorize,
  authorizeUrl,
  Browser,
  callApi,
  clientOf,
  consentPath,
  login,
  refresh,
  type TokenAnswer,
} from '../support/login.ts'
import { redeemTogether } from '../support/parallel-redemptions.ts'
import { startCluster } from '../support/processes.ts'
import { unlessTooBusy } from '../support/too-busy.ts'

// A file belongs to one service process; only PostgreSQL is shared by several.
let cluster: Awaited<ReturnType<typeof startCluster>>
/** Signed in after the first login, because each password takes half a second of the processor to hash. */
let browser: Browser
const undo: (() => Promise<void>)[] = []
beforeAll(async () => {
  const [command, database] = await Promise.all([serverUrl('command'), freshDatabase()])
  undo.push(database.drop)
  cluster = await startCluster(command, { databaseUrl: database.url, size: 3 })
  undo.push(cluster.close)
  browser = new Browser(cluster.fetch)
})
afterAll(async () => {
  for (const step of undo.reverse()) await step()
})

test('all three started at once on an empty database, and exactly one made the people', () => {
  const knowing = cluster.processes.filter(({ people }) => people.some(({ password }) => password !== ''))
  expect(knowing).toHaveLength(1)
  const [first] = cluster.processes
  for (const { people, clients } of cluster.processes) {
    expect(people.map(({ email }) => email)).toEqual(first?.people.map(({ email }) => email))
    expect(clients.map(({ clientId }) => clientId)).toEqual(first?.clients.map(({ clientId }) => clientId))
  }
})

test('a login begun on one process goes on and ends on others, and so do its tokens', async () => {
  const tokens = await login(cluster, { browser })
  for (let turn = 0; turn < 3; turn += 1) {
    expect((await callApi(cluster, { token: tokens.access_token, path: agentSearch, body: {} })).status).toBe(200)
  }
  const client = clientOf(cluster, 'Demo public')
  let refreshToken = tokens.refresh_token
  for (let turn = 0; turn < 4; turn += 1) {
    const answer = await refresh(cluster, client, refreshToken)
    expect(answer.status).toBe(200)
    refreshToken = ((await answer.json()) as TokenAnswer).refresh_token
  }
})

test('of 50 parallel redemptions over three processes exactly one succeeds', async () => {
  const { successes, strange } = await redeemTogether(cluster, { rounds: 5, browser })
  expect(successes).toEqual([1, 1, 1, 1, 1])
  expect(strange).toEqual([])
})

test('of 20 parallel refreshes over three processes all get the one successor', async () => {
  const client = clientOf(cluster, 'Demo public')
  const { refresh_token } = await login(cluster, { browser })
  const use = () => unlessTooBusy(() => refresh(cluster, client, refresh_token))
  const answers = await Promise.all(Array.from({ length: 20 }, use))
  const successors = await Promise.all(
    answers.map(async (answer) => ((await answer.json()) as TokenAnswer).refresh_token),
  )
  expect(new Set(successors).size).toBe(1)
  expect(answers.every(({ status }) => status === 200)).toBe(true)
  expect((await refresh(cluster, client, successors[0] ?? '')).status).toBe(200)
})

test('one consent answered on all processes at once gives one code', async () => {
  await authorize(cluster, { browser })
  const { url } = authorizeUrl(cluster)
  const page = await browser.get(url)
  const pages = await Promise.all(
    Array.from({ length: 9 }, () => browser.submit(page, consentPath, { decision: 'approve' })),
  )
  const codes = pages.filter(({ next }) => next !== undefined && new URL(next).searchParams.has('code'))
  expect(codes).toHaveLength(1)
})

test('of 12 parallel creates of one agent_key over three processes exactly one succeeds', async () => {
  const { access_token: token } = await login(cluster, { browser })
  const body = { agent_name: 'Only One', description: 'x', parent_agent_type: 'x' }
  const create = () => unlessTooBusy(() => callApi(cluster, { token, path: '/api/parent_agents', body }))
  const answers = await Promise.all(Array.from({ length: 12 }, create))
  expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 11 }, () => 422)])
})

interface Chains {
  /** When each pair of tokens came. */
  got: { atMs: number; accessToken: string }[]
  /** Successful refreshes that were begun after this moment. */
  successesAfter(atMs: number): number
  /** Families that still refresh. */
  running(): number
  /** Resolves to the last refresh token of each family. */
  end(): Promise<string[]>
}

/** The refresh tokens of new families. */
async function newFamilies(count: number): Promise<string[]> {
  const tokens: string[] = []
  while (tokens.length < count) tokens.push((await login(cluster, { browser })).refresh_token)
  return tokens
}

/** Families that refresh without a pause, over all processes. */
function refreshWithoutPause(families: readonly string[]): Chains {
  const client = clientOf(cluster, 'Demo public')
  const begun: number[] = []
  const got: Chains['got'] = []
  let state: 'running' | 'ended' = 'running'
  async function run(token: string): Promise<string> {
    let next = token
    while (state === 'running') {
      const beginMs = performance.now()
      const answer = await refresh(cluster, client, next)
      if (answer.status !== 200) return next
      const tokens = (await answer.json()) as TokenAnswer
      begun.push(beginMs)
      got.push({ atMs: performance.now(), accessToken: tokens.access_token })
      next = tokens.refresh_token
    }
    return next
  }
  let left = families.length
  const running = families.map((token) =>
    run(token).finally(() => {
      left -= 1
    }),
  )
  return {
    got,
    running: () => left,
    successesAfter: (atMs) => begun.filter((beginMs) => beginMs > atMs).length,
    end() {
      state = 'ended'
      return Promise.all(running)
    },
  }
}

async function control(name: 'revoke' | 'expire'): Promise<number> {
  const answer = await cluster.fetch(`${cluster.authUrl}/_dev/${name}`, { method: 'POST' })
  expect(answer.status).toBe(200)
  return performance.now()
}

test('after /_dev/revoke no family of tokens goes on, also of those that refresh meanwhile elsewhere', async () => {
  for (let round = 0; round < 4; round += 1) {
    const chains = refreshWithoutPause(await newFamilies(8))
    await expect.poll(() => chains.got.length, { interval: 10 }).toBeGreaterThanOrEqual(24)
    const revokedMs = await control('revoke')
    // Each ends by itself, at a refresh that is refused.
    await expect.poll(chains.running).toBe(0)
    await chains.end()
    expect(chains.successesAfter(revokedMs)).toBe(0)
  }
})

test('after /_dev/expire no access token works that was there before, also of those issued meanwhile', async () => {
  // What is expired are access tokens alone, so the families of a round go on in the next.
  let families = await newFamilies(8)
  for (let round = 0; round < 4; round += 1) {
    const chains = refreshWithoutPause(families)
    await expect.poll(() => chains.got.length, { interval: 10 }).toBeGreaterThanOrEqual(24)
    // A refresh that ends while the change is under way may come after it.
    const expiringMs = performance.now()
    await control('expire')
    families = await chains.end()
    const before = chains.got.filter(({ atMs }) => atMs < expiringMs)
    expect(before.length).toBeGreaterThanOrEqual(24)
    const statuses = await Promise.all(
      before.map(
        async ({ accessToken: token }) => (await callApi(cluster, { token, path: agentSearch, body: {} })).status,
      ),
    )
    expect(statuses.filter((status) => status === 200)).toEqual([])
  }
})
