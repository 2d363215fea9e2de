import { createHash } from 'node:crypto'

/** Prints a login as numbered steps with timings; secrets appear only as fingerprints. */
export interface Narrator {
  step(title: string): void
  line(text: string): void
  /** Returns a `fetch` that sends requests and prints them. */
  watch(send: typeof fetch): typeof fetch
}

const secretNames = /^(code|code_verifier|code_challenge|state|refresh_token|client_id|password|token|ticket|request)$/

export function fingerprint(secret: string): string {
  return `#${createHash('sha256').update(secret).digest('hex').slice(0, 8)}`
}

export function createNarrator(print: (line: string) => void): Narrator {
  const startedMs = performance.now()
  let steps = 0
  const stamp = (): string => `${(performance.now() - startedMs).toFixed(0).padStart(5)} ms`
  const line = (text: string): void => print(`${stamp()}      ${text}`)
  return {
    step: (title) => print(`\n${stamp()}  ${++steps}. ${title}`),
    line,
    watch: (send) => async (input, init) => {
      const request = new Request(input, init)
      const url = new URL(request.url)
      const body = typeof init?.body === 'string' ? ` ${describeBody(init.body, request.headers)}` : ''
      const response = await send(input, init)
      const credentials = request.headers
        .get('authorization')
        ?.replace(/^(\w+) (.+)$/, (_, scheme, rest) => ` [${scheme} ${fingerprint(rest)}]`)
      line(
        `${request.method} ${url.host}${url.pathname}${describeQuery(url)}${credentials ?? ''}${body} → ${response.status}`,
      )
      return response
    },
  }
}

function describeQuery({ searchParams }: URL): string {
  const pairs = [...searchParams].map(([name, value]) => `${name}=${show(name, value)}`)
  return pairs.length > 0 ? `?${pairs.join('&')}` : ''
}

function describeBody(body: string, headers: Headers): string {
  const json = headers.get('content-type')?.startsWith('application/json')
  const members = json ? Object.entries(JSON.parse(body)) : [...new URLSearchParams(body)]
  const shown = members.map(
    ([name, value]) => `${name}: ${show(name, typeof value === 'string' ? value : JSON.stringify(value))}`,
  )
  return `${json ? 'JSON' : 'form'} { ${shown.join(', ')} }`
}

function show(name: string, value: string): string {
  return secretNames.test(name) ? fingerprint(value) : value
}
