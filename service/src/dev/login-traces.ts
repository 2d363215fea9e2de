import { createHash, createHmac, randomBytes } from 'node:crypto'
import type { ServiceClock } from '../state.ts'

/** One value of a request or a response. */
export type NamedValue = readonly [name: string, value: string]

/** One request of a login and its response. On a page, a value that may be a secret is its fingerprint. */
export interface LoginStep {
  atMs: number
  /** What the request is for, such as `Exchange`. */
  name: string
  method: string
  path: string
  status: number
  sent: readonly NamedValue[]
  received: readonly NamedValue[]
  fault?: string
}

/** The requests of one login, from authorize to the last refresh. */
export interface Login<Step = LoginStep> {
  id: string
  clientId?: string
  personId?: string
  steps: Step[]
}

/** A request as the middleware saw it. */
interface SeenRequest extends Omit<LoginStep, 'atMs'> {
  /** Values that are no secrets, because the service checked them. */
  plain: readonly string[]
  /** Texts that name the login: its authorization request, its code, its refresh tokens. */
  links: readonly string[]
  clientId?: string
  personId?: string
}

export interface Logins {
  record(request: SeenRequest): void
  /** Returns the logins, newest first, without the values of their requests. */
  list(): Login<Pick<LoginStep, 'atMs' | 'name' | 'status'>>[]
  /** Returns one login with fingerprints of its secrets. */
  find(id: string): Login | undefined
  clear(): void
}

/** Values that the service compares with a fixed list. Everything else that was sent may be a secret. */
const fixedValues = 'code api.access S256 plain authorization_code refresh_token approve deny Bearer'.split(' ')
/** The dev page shows the latest, so that refreshes of a whole day do not fill the memory. */
const mostLogins = 20
const mostSteps = 100
/** A step has at most two texts that link it. */
const mostLinks = 2 * mostSteps

interface KeptLogin extends Login {
  links: Set<string>
  plain: Set<string>
}

/**
 * Keeps the requests of the last logins for the dev page. The key of the fingerprints is of this process, so codes cannot be tried out on
 * them.
 */
export function createLogins(clock: ServiceClock): Logins {
  const key = randomBytes(32)
  let kept: KeptLogin[] = []
  let count = 0

  function loginOf(links: readonly string[]): KeptLogin {
    const known = kept.find((login) => links.some((link) => login.links.has(link)))
    if (known !== undefined) return known
    count += 1
    const started = { id: String(count), steps: [], links: new Set<string>(), plain: new Set(fixedValues) }
    kept = [started, ...kept].slice(0, mostLogins)
    return started
  }
  const fingerprint = (text: string): string => `#${createHmac('sha256', key).update(text).digest('hex').slice(0, 8)}`
  return {
    record({ plain, links: named, clientId, personId, ...step }) {
      // A form without the field that names its request has an empty one.
      const links = named.filter((link) => link !== '')
      const login = loginOf(links)
      for (const link of links) login.links.add(link)
      for (const link of login.links) {
        if (login.links.size <= mostLinks) break
        login.links.delete(link)
      }
      for (const value of plain) login.plain.add(value)
      if (clientId !== undefined) login.clientId = clientId
      if (personId !== undefined) login.personId = personId
      login.steps.push({ ...step, atMs: clock.nowMs() })
      if (login.steps.length > mostSteps) login.steps.shift()
    },
    list: () =>
      kept.map(({ links: _links, plain: _plain, steps, ...login }) => ({
        ...login,
        steps: steps.map(({ atMs, name, status }) => ({ atMs, name, status })),
      })),
    find(id) {
      const found = kept.find((login) => login.id === id)
      if (found === undefined) return undefined
      const { links: _links, plain, steps, ...login } = found
      const show = (values: readonly NamedValue[]): NamedValue[] =>
        values.map(([name, value]) => [name, plain.has(value) ? value : shownSecret(name, value, fingerprint)])
      return {
        ...login,
        steps: steps.map((step) => ({ ...step, sent: show(step.sent), received: show(step.received) })),
      }
    },
    clear: () => {
      kept = []
    },
  }
}

/** Returns the fingerprint of a secret. Of a verifier it also returns that of its S256, which equals the challenge. */
function shownSecret(name: string, value: string, fingerprint: (text: string) => string): string {
  if (name !== 'code_verifier') return fingerprint(value)
  return `${fingerprint(value)}, S256 ${fingerprint(createHash('sha256').update(value).digest('base64url'))}`
}
