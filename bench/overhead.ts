import { createAuthConfig, createBearerFetch, createSession } from '../src/index.ts'

const target = 1.3
const rounds = 61
const callsPerRound = 4_000
const baseUrl = 'https://api.example.com'
const url = `${baseUrl}/v1/parent-agents/search`
const accessToken = 'bench-access-token'

type Call = () => Promise<Response>

/**
 * The bearer fetch with a valid token against the least one could write by hand. Both call the same stub, which makes one
 * Response a call; rounds take turns, so that warm-up and noise hit both alike.
 */
export async function overhead(): Promise<boolean> {
  const stub: typeof fetch = async () => new Response('{}')
  const byHand: Call = () => {
    const headers = new Headers(init.headers)
    headers.set('authorization', `Bearer ${accessToken}`)
    return stub(url, { ...init, headers })
  }
  const bearerFetch = createBearerFetch(await signedInSession(), { baseUrl, fetch: stub })
  const library: Call = () => bearerFetch(url, init)

  const times: Record<'hand' | 'library', number[]> = { hand: [], library: [] }
  for (const _ of Array(10)) await Promise.all([timed(byHand), timed(library)])
  for (let round = 0; round < rounds; round++) {
    times.hand.push(await timed(byHand))
    times.library.push(await timed(library))
  }
  const [hand, lib] = [median(times.hand), median(times.library)]
  const ratio = lib / hand
  process.stdout.write(
    `by hand       ${perCall(hand)}\nbearer fetch  ${perCall(lib)}\nratio         ${ratio.toFixed(2)} x (target: at most ${target} x)\n`,
  )
  return ratio <= target
}

const init: RequestInit = {
  method: 'POST',
  headers: { 'content-type': 'application/json', accept: 'application/json' },
  body: '{"page":1}',
}

async function signedInSession(): Promise<ReturnType<typeof createSession>> {
  const session = createSession(
    createAuthConfig({
      authUrl: 'https://auth.example.com',
      baseUrl,
      clientId: 'app',
      redirectUri: 'https://app.example.com/callback',
    }),
  )
  const now = Date.now()
  await session.signIn({
    accessToken,
    refreshToken: 'bench-refresh-token',
    obtainedAtMs: now,
    expiresAtMs: now + 3_600_000,
  })
  return session
}

async function timed(call: Call): Promise<number> {
  const start = performance.now()
  for (let done = 0; done < callsPerRound; done++) await call()
  return performance.now() - start
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

function perCall(roundMs: number): string {
  return `${((roundMs * 1_000) / callsPerRound).toFixed(2)} µs a call`
}
