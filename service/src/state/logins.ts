import { createHash, createHmac, randomBytes } from 'node:crypto'
import type { ServiceClock } from './clock.ts'

/** One value of a request or a response: as it is if it is no secret, else its fingerprint. */
export type ShownValue = readonly [name: string, text: string]

/** One request of a login and its response. */
export interface LoginStep {
  atMs: number
  method: string
  path: string
  status: number
  sent: ShownValue[]
  received: ShownValue[]
  fault?: string
}

/** The requests of one login, from authorize to the last refresh. */
export interface Login {
  id: string
  clientId?: string
  personId?: string
  steps: LoginStep[]
}

/** A request as the middleware saw it. Its values may be secrets; none is kept. */
export interface SeenRequest extends Omit<LoginStep, 'atMs' | 'sent' | 'received'> {
  sent: ShownValue[]
  received: ShownValue[]
  /** Values that are no secrets, because the service checked them. */
  plain: readonly string[]
  /** Texts that name the authorization request. */
  links: readonly string[]
  clientId?: string
  personId?: string
}

export interface Logins {
  record(request: SeenRequest): void
  /** Returns the logins, newest first. */
  list(): readonly Login[]
  clear(): void
}

/** Values that the service compares with a fixed list. Everything else that was sent may be a secret. */
const fixedValues = 'code api.access S256 plain authorization_code refresh_token approve deny Bearer'.split(' ')
/** Two requests with the same of these belong to one login. */
const linkNames = ['code', 'refresh_token']

/** The dev page shows the latest, so that refreshes of a whole day do not fill the memory. */
const mostLogins = 20
const mostSteps = 100

interface KeptLogin extends Login {
  links: Set<string>
  plain: Set<string>
}

/** Keeps the requests of the last logins for the dev page. Fingerprints have a key of this process, so that no one can try out passwords or codes on them. */
export function createLogins(clock: ServiceClock): Logins {
  const key = randomBytes(32)
  let kept: KeptLogin[] = []
  let count = 0
  const linkOf = (value: string): string => createHmac('sha256', key).update(value).digest('hex')

  function loginOf(links: string[]): KeptLogin {
    const known = kept.find((login) => links.some((link) => login.links.has(link)))
    if (known !== undefined) return known
    count += 1
    const started = { id: String(count), steps: [], links: new Set<string>(), plain: new Set(fixedValues) }
    kept = [started, ...kept].slice(0, mostLogins)
    return started
  }
  return {
    record(request) {
      const { sent, received, plain, links: named, clientId, personId, ...step } = request
      const secrets = [...sent, ...received].filter(([name]) => linkNames.includes(name)).map(([, value]) => value)
      const links = [...secrets, ...named].map(linkOf)
      const login = loginOf(links)
      for (const link of links) login.links.add(link)
      for (const value of plain) login.plain.add(value)
      if (clientId !== undefined) login.clientId = clientId
      if (personId !== undefined) login.personId = personId
      const show = (values: ShownValue[]): ShownValue[] =>
        values.map(([name, value]) => [name, shownText(name, value, { plain: login.plain, linkOf })])
      login.steps.push({ ...step, atMs: clock.nowMs(), sent: show(sent), received: show(received) })
      login.steps.splice(0, Math.max(0, login.steps.length - mostSteps))
    },
    list: () => kept,
    clear: () => {
      kept = []
    },
  }
}

/** Returns the text to show for a value. Of a verifier it also shows its S256, which equals the challenge. */
function shownText(
  name: string,
  value: string,
  { plain, linkOf }: { plain: ReadonlySet<string>; linkOf(value: string): string },
): string {
  if (name === 'password') return 'not shown'
  if (plain.has(value)) return value
  const fingerprint = (text: string): string => `#${linkOf(text).slice(0, 8)}`
  if (name !== 'code_verifier') return fingerprint(value)
  return `${fingerprint(value)}, S256 ${fingerprint(createHash('sha256').update(value).digest('base64url'))}`
}
