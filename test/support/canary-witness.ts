import { inspect } from 'node:util'
import { type Leak, leaks, registerSecret } from './canary.ts'

interface Testimony {
  /** What was printed or emitted, by the place it went to; equal texts once. */
  readonly texts: Map<string, Set<string>>
  /** Errors that look the same at construction, by that look. */
  readonly errors: Map<string, Error[]>
}

/** Property tests make the same error a million times: beyond this, one that looks the same is not kept. */
const alike = 5

// On globalThis, so that a test which resets its modules is still witnessed.
const slot: unique symbol = Symbol.for('agent-auth.test.witness') as never
const store = globalThis as { [slot]?: Testimony }

function testimony(): Testimony {
  store[slot] ??= { texts: new Map(), errors: new Map() }
  return store[slot]
}

export function noteText(where: string, text: string): void {
  const { texts } = testimony()
  const seen = texts.get(where) ?? new Set()
  texts.set(where, seen.add(text))
}

/** Arguments are rendered now: they may change, or be emptied, before the test ends. */
export function notePrinted(where: string, values: readonly unknown[]): void {
  for (const value of values) {
    noteText(where, typeof value === 'string' ? value : inspect(value, { depth: Infinity, showHidden: true }))
  }
}

/** Inspected when the test ends, with whatever was attached to it meanwhile. */
export function noteError(error: Error): void {
  const { errors } = testimony()
  const look = error.message + JSON.stringify(error)
  const kept = errors.get(look) ?? []
  if (kept.length < alike) errors.set(look, [...kept, error])
}

/** Registers the secrets a request to a token endpoint or API carries: its credentials, and the secret members of its body. */
export function noteRequest(init: RequestInit | undefined): void {
  const { body } = init ?? {}
  const text = typeof body === 'string' || body instanceof URLSearchParams ? body.toString() : ''
  for (const [name, value] of members(text)) {
    if (/^(code|code_verifier|refresh_token|client_secret)$/.test(name) && looksRandom(value))
      registerSecret(name, value)
  }
  const token = new Headers(init?.headers).get('authorization')?.match(/^(?:Bearer|Basic) (.*)$/i)?.[1]
  if (token && looksRandom(token)) registerSecret('authorization header', token)
}

/** All leaks of what was witnessed since the last call, which forgets it. */
export function takeLeaks(): Leak[] {
  const { texts, errors } = testimony()
  delete store[slot]
  const printed = [...texts].flatMap(([where, seen]) => [...seen].flatMap((text) => leaks(text, where)))
  const thrown = [...errors.values()].flat().flatMap((error) => leaks(error, error.message.slice(0, 60)))
  return [...printed, ...thrown]
}

function members(text: string): [string, string][] {
  if (!text.startsWith('{')) return [...new URLSearchParams(text)]
  try {
    return Object.entries(JSON.parse(text)).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  } catch {
    return []
  }
}

/** Hand-written values such as `refresh-token-1` are words that messages may use; those that matter come from `secret()`. */
function looksRandom(value: string): boolean {
  return value.length >= 20 && /[0-9]/.test(value) && /[A-Z]/.test(value) && /[a-z]/.test(value)
}
