import { createAuthConfig } from '../config.ts'
import type { Clock } from '../internal/clock.ts'
import { revalidateAfterMs } from '../internal/limits.ts'
import { deferred, sleep } from '../internal/timeouts.ts'
import { createSession, type Session } from '../session.ts'
import type { Tokens } from '../tokens.ts'
import { type Check, type Checks, same } from './case.ts'
import { type TestClock, testClock } from './clock.ts'

const hourMs = 3_600_000

/** Sessions of two clients, with a token endpoint whose refresh tokens work once. */
interface Stage {
  readonly here: Session
  readonly there: Session
  readonly clock: TestClock
  readonly endpoint: ReturnType<typeof tokenEndpoint>
}

export const sessionChecks: Checks = {
  'carries a session to another handle, and one refresh serves both': onStage(
    async ({ here, there, clock, endpoint }) => {
      const before = await there.getAccessToken()
      same('the token on both handles', before, await here.getAccessToken())
      clock.advance(hourMs)
      const calls = Array.from({ length: 20 }, (_, index) => (index % 2 ? here : there).getAccessToken())
      const answers = new Set(await Promise.all(calls))
      same('different tokens after expiry', answers.size, 1)
      same('the expired token was given again', answers.has(before), false)
      same('refreshes, and refused ones', endpoint.seen, { requests: 1, refused: 0 })
    },
  ),
  'ends a session on every handle when one signs out': onStage(async ({ here, there, clock, endpoint }) => {
    await here.signOut()
    clock.advance(revalidateAfterMs)
    same('a call on the other handle', await outcome(there), 'login_required')
    same('refreshes', endpoint.seen.requests, 0)
  }),
  'stays signed out when another handle was refreshing': onStage(async (stage) => {
    const { here, there } = stage
    await whileRefreshing(stage, () => here.signOut())
    same('a call here', await outcome(here), 'login_required')
    same('a call there', await outcome(there), 'login_required')
  }),
  'keeps a new sign-in when another handle was refreshing': onStage(async (stage) => {
    const { here, there, endpoint } = stage
    let accessToken = ''
    await whileRefreshing(stage, () => {
      const next = endpoint.issue()
      accessToken = next.accessToken
      return here.signIn(next)
    })
    for (const session of [here, there]) {
      // The call that first reads the new sign-in was made for the old one.
      const first = await outcome(session)
      if (first !== 'session_changed') same('the token', first, accessToken)
      same('the token', await outcome(session), accessToken)
    }
  }),
}

/** Runs a task while the refresh of the other handle waits for its response. */
async function whileRefreshing({ there, clock, endpoint }: Stage, task: () => Promise<void>): Promise<void> {
  clock.advance(hourMs)
  const release = endpoint.hold()
  const call = outcome(there)
  while (endpoint.seen.requests === 0) await sleep(1)
  const work = task()
  await sleep(20)
  release()
  await Promise.all([call, work])
  clock.advance(revalidateAfterMs)
}

function onStage(play: (stage: Stage) => Promise<void>): Check {
  return async (handle) => {
    const clock = testClock()
    const endpoint = tokenEndpoint(clock)
    const config = createAuthConfig({
      authUrl: 'https://auth.example.com',
      baseUrl: 'https://api.example.com',
      clientId: 'app',
      redirectUri: 'https://app.example.com/callback',
      fetch: endpoint.fetch,
      clock,
    })
    const here = createSession(config, { storage: await handle() })
    const there = createSession(config, { storage: await handle() })
    await here.signIn(endpoint.issue())
    same('the session on the other handle', (await there.ready()).status, 'signed-in')
    await play({ here, there, clock, endpoint })
  }
}

/** Resolves to the token of a call, or to the code with which it rejects. */
async function outcome(session: Session): Promise<string> {
  try {
    return await session.getAccessToken()
  } catch (error) {
    return (error as { code?: string }).code ?? String(error)
  }
}

function tokenEndpoint(clock: Clock) {
  const live = new Set<string>()
  /** How many requests came, and how many of them with a used token. */
  const seen = { requests: 0, refused: 0 }
  let issued = 0
  let gate = deferred<void>()
  gate.resolve()
  const issue = (): Tokens => {
    const tokens = { accessToken: `access-${++issued}`, refreshToken: `refresh-${issued}` }
    live.add(tokens.refreshToken)
    const obtainedAtMs = clock.wallMs()
    return { ...tokens, obtainedAtMs, expiresAtMs: obtainedAtMs + hourMs }
  }
  const answer = (refreshToken: string): Response => {
    if (!live.delete(refreshToken)) {
      seen.refused += 1
      return Response.json({ error: 'invalid_grant' }, { status: 400 })
    }
    const { accessToken, refreshToken: next } = issue()
    return Response.json({ access_token: accessToken, refresh_token: next, expires_in: hourMs / 1_000 })
  }
  return {
    seen,
    issue,
    async fetch(_url: unknown, init?: RequestInit): Promise<Response> {
      seen.requests += 1
      const { refresh_token: refreshToken } = JSON.parse(String(init?.body)) as { refresh_token: string }
      const response = answer(refreshToken)
      await gate.promise
      return response
    },
    /** Delays responses until the returned function is called. */
    hold() {
      gate = deferred()
      return gate.resolve
    },
  }
}
