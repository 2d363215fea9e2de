import { readClaims } from 'agent-auth'
import type { Refused } from '../checker/history.ts'
import { fingerprint, type Write } from './recorder.ts'

interface Place {
  readonly line: string
  readonly generation: number
}

type Sender = Pick<Refused, 'process' | 'holder' | 'sentMs'>

/**
 * Returns a function that records what a token request was answered with, and returns which grant it was of. It knows of each
 * refresh token in which line it is, and whether it was used.
 */
export function lineRecorder(
  write: Write,
): (body: string, response: Response, headers: Headers) => Promise<'code' | 'refresh' | 'other'> {
  const places = new Map<string, Place>()
  const used = new Set<string>()
  const ended = new Set<string>()
  let lines = 0

  function issue(presented: string | undefined, answer: Record<string, string>, { holder }: Sender): void {
    const from = presented === undefined ? undefined : places.get(presented)
    const refresh = fingerprint(answer.refresh_token ?? '')
    const known = places.get(refresh)
    const place =
      known ?? (from ? { ...from, generation: from.generation + 1 } : { line: `L${++lines}`, generation: 0 })
    places.set(refresh, place)
    if (presented !== undefined) used.add(presented)
    const how = known ? 'repeated' : from ? 'rotated' : 'sign-in'
    const token = answer.access_token ?? ''
    const person = readClaims({ accessToken: token })?.subject ?? 'unknown'
    const to = holder === undefined ? {} : { holder }
    write({ type: 'issued', ...place, how, person, access: fingerprint(token), ...to })
  }

  return async (body, response, headers) => {
    const sent = fields(body)
    const presented = sent.refresh_token === undefined ? undefined : fingerprint(sent.refresh_token)
    if (sent.code === undefined && presented === undefined) return 'other'
    const answer = (await response.json().catch(() => ({}))) as Record<string, string>
    const sender = senderOf(headers)
    if (response.ok) issue(presented, answer, sender)
    const place = presented === undefined ? undefined : places.get(presented)
    if (place && answer.error === 'invalid_grant') {
      const why = used.has(presented ?? '') && !ended.has(place.line) ? 'reused' : 'revoked'
      ended.add(place.line)
      write({ type: 'refused', ...place, why, ...sender })
    }
    return presented === undefined ? 'code' : 'refresh'
  }
}

/** Reads the headers that a process adds to its requests. */
function senderOf(headers: Headers): Sender {
  const [process, holder, sentMs] = ['x-process', 'x-holder', 'x-sent-ms'].map((name) => headers.get(name) ?? undefined)
  return {
    ...(process === undefined ? {} : { process }),
    ...(holder === undefined ? {} : { holder }),
    ...(sentMs === undefined ? {} : { sentMs: Number(sentMs) }),
  }
}

/** Reads a refresh, which is JSON, or the exchange of a code, which is a form. */
function fields(body: string): { refresh_token?: string; code?: string } {
  return body.startsWith('{') ? JSON.parse(body) : Object.fromEntries(new URLSearchParams(body))
}
