import { requestLimits } from '../limits.ts'
import { matchesRegistered, refuseRedirectUri, withoutLoopbackPort } from '../redirect-uris.ts'
import { shellWord } from '../shell-word.ts'
import type { RegisteredClient } from '../store/tables/clients.ts'

interface Unregistered {
  /** The redirect URI, if one was sent. */
  sent: string | undefined
  authUrl: string
  /** The client and those of its tenant. Absent without dev controls, because the page is public and would tell their kinds. */
  known: { client: RegisteredClient; clients: readonly RegisteredClient[] } | undefined
}

const kindTexts = {
  public: 'The client_id is of a public client, which is for pages and apps. A backend uses a confidential client.',
  confidential:
    'The client_id is of a confidential client, which is for a backend. A page or app uses a public client.',
} as const

const freePort = 'Every port then matches, because the client_id is of a public client.'

/** Returns the text about a redirect URI that is not registered. The page never links to it (open redirect, S-003). */
export function unregisteredText(sent: string | undefined): string {
  const shown = showable(sent) === undefined ? '' : `${sent} `
  return `The redirect_uri ${shown}is not registered for this application.`
}

/** Returns what to do, one sentence each: correct it, use another client id, or register it. */
export function unregisteredFix({ sent, authUrl, known }: Unregistered): string[] {
  const url = showable(sent)
  if (sent === undefined || url === undefined) return ['Send one redirect_uri, exactly as it is registered.']
  if (url.protocol === 'http:' && url.hostname === 'localhost') {
    const port = url.port === '' ? '' : `:${url.port}`
    return [`Open the application at http://127.0.0.1${port} instead.`]
  }
  const { mistake, isOtherPort, kind } = compare(sent, known)
  if (mistake !== undefined) return mistake
  if (refuseRedirectUri(sent) !== undefined) {
    return ['Use https, or http on 127.0.0.1 or [::1], without fragment, userinfo or wildcard, and register that.']
  }
  const portless = kind === 'public' ? withoutLoopbackPort(sent) : undefined
  const hint = portless !== undefined ? freePort : kind && kindTexts[kind]
  return [
    ...(isOtherPort ? ['Only the port differs from a registered one. Use that port, or register this one.'] : []),
    `To register it, call startService with redirectUris, or start agent-service with --redirect-uri ${shellWord(portless ?? sent)}`,
    `If the service keeps its data, register a client at ${authUrl}/auth/v1/clients instead.`,
    ...(hint === undefined || isOtherPort ? [] : [hint]),
  ]
}

interface Comparison {
  /** What to do if the client id is that of another kind of client. */
  mistake?: string[]
  isOtherPort?: boolean
  kind?: RegisteredClient['kind']
}

/** Compares a redirect URI with those of the clients of the tenant. */
function compare(sent: string, known: Unregistered['known']): Comparison {
  if (known === undefined) return {}
  const { client, clients } = known
  const owner = clients.find(({ kind, redirectUris }) => {
    return redirectUris.some((registered) => matchesRegistered(sent, registered, kind))
  })
  // The port of a public client is free, so its URIs match those of a backend on another port.
  const isOtherPort = client.redirectUris.some((registered) => matchesRegistered(sent, registered, 'public'))
  if (owner === undefined || owner.kind === client.kind || isOtherPort) return { isOtherPort, kind: client.kind }
  return { mistake: [`It is registered for a ${owner.kind} client of the same tenant.`, kindTexts[client.kind]] }
}

/**
 * Returns a URL to show (`shownRedirectUriCharacters`, 200). It has only printable ASCII, because other characters can look alike,
 * and no password.
 */
function showable(sent: string | undefined): URL | undefined {
  if (sent === undefined || sent.length > requestLimits.shownRedirectUriCharacters) return undefined
  if (!/^https?:\/\/[\x21-\x7e]+$/i.test(sent) || !URL.canParse(sent)) return undefined
  const url = new URL(sent)
  return url.username === '' && url.password === '' ? url : undefined
}
