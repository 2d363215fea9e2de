import { randomBytes } from 'node:crypto'
import { type Rendering, renderings } from './renderings.ts'

/** V8 quotes about ten characters when it refuses JSON or a URL, so whole-value search would miss real leaks. */
const windowLength = 8

export interface Leak {
  /** The label of the secret, never the secret. */
  readonly label: string
  readonly encoding: string
  /** Where it was seen: `console.warn`, `AgentAuthError config_invalid, cause message` … */
  readonly where: string
}

interface Registry {
  readonly windows: Map<string, { label: string; encoding: string }>
  readonly known: Set<string>
  /** 1 at the hash of each window's first four characters. Most text has none of them, and is searched without making a window of it. */
  readonly starts: Uint8Array
}

/** Five bits a character, so that a hash forgets the fifth last. */
const hashLength = 4
const hashMask = 2 ** (5 * hashLength) - 1
const hashOf = (before: number, code: number): number => ((before << 5) ^ code) & hashMask

// On globalThis, so that a test which resets its modules goes on with the same registry.
const slot: unique symbol = Symbol.for('agent-auth.test.canary') as never
const store = globalThis as { [slot]?: Registry }

function registry(): Registry {
  store[slot] ??= { windows: new Map(), known: new Set(), starts: new Uint8Array(hashMask + 1) }
  return store[slot]
}

/** A new random value that stands for a token, code, verifier or client secret; the sweep looks for it until the file ends. */
export function secret(label: string): string {
  // The mark is shorter than a window: every window holds random characters and can't occur by chance.
  const value = `Zq${randomBytes(24).toString('base64url').replace(/[-_]/g, '7')}`
  registerSecret(label, value)
  return value
}

/** Adds a value made elsewhere, for example a token of a real server. Shorter than a window, it can't be looked for. */
export function registerSecret(label: string, value: string): void {
  const { windows, known, starts } = registry()
  if (known.has(value)) return
  known.add(value)
  const searched = new Set<string>()
  for (const [encoding, text] of encodings(value)) {
    // Most values are the same in several encodings.
    if (searched.has(text)) continue
    searched.add(text)
    for (let at = 0; at + windowLength <= text.length; at++) {
      const window = text.slice(at, at + windowLength)
      if (windows.has(window) || isOneCharacter(window)) continue
      windows.set(window, { label, encoding })
      starts[startOf(window)] = 1
    }
  }
}

/** Forgets all secrets: the setup file calls it before each test file. */
export function forgetSecrets(): void {
  delete store[slot]
}

/** Every place of the text, or of anything a value prints as, that holds a window of a registered secret. */
export function leaks(value: unknown, where = 'text'): Leak[] {
  const texts: Rendering[] = typeof value === 'string' ? [{ form: '', text: value }] : renderings(value)
  return texts.flatMap(({ form, text }) => {
    const found = search(text)
    return found ? [{ ...found, where: form ? `${where}, ${form}` : where }] : []
  })
}

/** Throws when the text, or anything a value prints as, holds eight characters in a row of any registered secret. */
export function assertNoLeak(value: unknown, where?: string): void {
  report(leaks(value, where))
}

/** Throws one error that names each leak. The secret itself is not in it. */
export function report(found: readonly Leak[]): void {
  if (found.length === 0) return
  const lines = new Set(found.map(({ label, encoding, where }) => `  secret "${label}" (${encoding}) in ${where}`))
  throw new Error(`Leaked secrets:\n${[...lines].join('\n')}`)
}

function search(text: string): { label: string; encoding: string } | undefined {
  const { windows, starts } = registry()
  if (windows.size === 0) return undefined
  let hash = 0
  for (let end = 0; end < text.length; end++) {
    hash = hashOf(hash, text.charCodeAt(end))
    if (starts[hash] === 0) continue
    const at = end - hashLength + 1
    const hit = windows.get(text.slice(at, at + windowLength))
    if (at >= 0 && hit) return hit
  }
  return undefined
}

/** Compares two characters first, because this is asked of each window of each secret. */
function isOneCharacter(window: string): boolean {
  return window[0] === window[1] && /^(.)\1*$/s.test(window)
}

function startOf(window: string): number {
  let hash = 0
  for (let at = 0; at < hashLength; at++) hash = hashOf(hash, window.charCodeAt(at))
  return hash
}

function encodings(value: string): [encoding: string, text: string][] {
  const all: [string, string][] = [
    ['raw', value],
    ['URL-encoded', encodeURIComponent(Buffer.from(value).toString())],
    ['form-encoded', new URLSearchParams({ '': value }).toString()],
    ['JSON-escaped', JSON.stringify(value).slice(1, -1)],
  ]
  // Inside a longer text a secret begins at any of three places of a base64 group; the outer characters mix with neighbours.
  for (const before of [0, 1, 2]) {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(value)])
    const whole = bytes.subarray(0, bytes.length - (bytes.length % 3))
    all.push(['base64', whole.toString('base64').slice(before && 4)])
    all.push(['base64url', whole.toString('base64url').slice(before && 4)])
  }
  return all
}
