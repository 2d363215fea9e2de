type FetchInput = Parameters<typeof fetch>[0]

/** One call as it reached the injected fetch. */
export interface SeenCall {
  readonly input: FetchInput
  readonly init: RequestInit | undefined
  readonly url: string
  readonly headers: Headers
  readonly authorization: string | null
}

export interface ApiStub {
  readonly fetch: typeof fetch
  readonly calls: readonly SeenCall[]
  /** The `Authorization` of each call, in order. */
  readonly authorizations: readonly (string | null)[]
}

/** A fetch that answers as told and keeps what it was called with. Nothing is sent. */
export function apiStub(answer: (call: SeenCall, index: number) => Response | Promise<Response>): ApiStub {
  const calls: SeenCall[] = []
  return {
    async fetch(input, init) {
      const request = typeof input === 'object' && 'url' in input ? input : undefined
      // Copied now: whoever calls may go on to change its own object.
      const headers = new Headers(init?.headers ?? request?.headers)
      const authorization = headers.get('authorization')
      const call = { input, init, url: request?.url ?? String(input), headers, authorization }
      return answer(call, calls.push(call) - 1)
    },
    calls,
    get authorizations() {
      return calls.map((call) => call.authorization)
    },
  }
}

/** Answers 200 to the tokens named and 401 to everything else. */
export function acceptOnly(...tokens: readonly string[]): (call: SeenCall) => Response {
  const good = new Set(tokens.map((token) => `Bearer ${token}`))
  return ({ authorization }) => new Response(null, { status: good.has(authorization ?? '') ? 200 : 401 })
}
