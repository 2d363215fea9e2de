import { commandName } from '../command-name.ts'
import { matchesRegistered, refuseRedirectUri } from '../redirect-uris.ts'
import type { RegisteredClient } from '../store/tables/clients.ts'

//
const longestShown = 200

interface Unregistered {
  /** The redirect URI, if one was sent. */
  sent: string | undefined
  client: RegisteredClient
  /** The clients of the same tenant. */
  clients: readonly RegisteredClient[]
  authUrl: string
}

const kindTexts = {
  public: 'The client id that was sent is public: it is for pages and apps, and a backend uses a confidential one.',
  confidential:
    'The client id that was sent is confidential: it is for a backend, and a page or app uses a public one.',
} as const

/** What the page says of a return address that is not registered. It is text there and never a link (S-003). */
export function unregisteredText(sent: string | undefined): string {
  const shown = showable(sent) === undefined ? '' : `${sent} `
  return `The return address ${shown}is not registered for this application (redirect_uri).`
}

/** What to do about it, one sentence each: spell it otherwise, use another client id, or register it. */
export function unregisteredFix({ sent, client, clients, authUrl }: Unregistered): string[] {
  const url = showable(sent)
  if (sent === undefined || url === undefined) return ['Send one redirect_uri, exactly as it is registered.']
  if (url.protocol === 'http:' && url.hostname === 'localhost') {
    const port = url.port === '' ? '' : `:${url.port}`
    return [`Open the application at http://127.0.0.1${port} instead.`]
  }
  const owner = clients.find(({ kind, redirectUris }) => {
    return redirectUris.some((registered) => matchesRegistered(sent, registered, kind))
  })
  if (owner !== undefined && owner.kind !== client.kind) {
    return [`It is registered for a ${owner.kind} client of the same tenant.`, kindTexts[client.kind]]
  }
  if (refuseRedirectUri(sent) !== undefined) {
    return ['Use https, or http on 127.0.0.1 or [::1], without fragment, userinfo or wildcard, and register that.']
  }
  return [
    `To register it, start ${commandName()} with --redirect-uri ${sent}`,
    `If the data are kept, register a client of your own at ${authUrl}/auth/v1/clients instead.`,
    kindTexts[client.kind],
  ]
}

/** Printable ASCII alone, so that what is shown reads as it was sent; a password is not shown. */
function showable(sent: string | undefined): URL | undefined {
  if (sent === undefined || sent.length > longestShown) return undefined
  if (!/^https?:\/\/[\x21-\x7e]+$/i.test(sent) || !URL.canParse(sent)) return undefined
  const url = new URL(sent)
  return url.username === '' && url.password === '' ? url : undefined
}
