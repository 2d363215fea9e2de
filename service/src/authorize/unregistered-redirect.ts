import { shellWord } from '../command-name.ts'
import { requestLimits } from '../limits.ts'
import { refuseRedirectUri, withoutLoopbackPort } from '../redirect-uris.ts'
import type { RegisteredClient } from '../store/clients.ts'

/** Returns the text about a redirect URI that is not registered. The page never links to it (open redirect). */
export function unregisteredText(sent: string | undefined): string {
  const shown = showable(sent) === undefined ? '' : `${sent} `
  return `The redirect_uri ${shown}is not registered for this application.`
}

/** Returns what to do, one sentence each. `client` is absent without dev controls, because the page is public. */
export function unregisteredFix(
  sent: string | undefined,
  { authUrl, client }: { authUrl: string; client: RegisteredClient | undefined },
): string[] {
  const url = showable(sent)
  if (sent === undefined || url === undefined) return ['Send one redirect_uri, exactly as it is registered.']
  const port = url.port === '' ? '' : `:${url.port}`
  if (url.protocol === 'http:' && url.hostname === 'localhost')
    return [`Open the application at http://127.0.0.1${port} instead.`]
  const known = client === undefined ? [] : [registeredText(client)]
  if (refuseRedirectUri(sent) !== undefined)
    return ['Use https, or http on 127.0.0.1 or [::1], without fragment, userinfo or wildcard.', ...known]
  const suggested = (client?.kind === 'public' ? withoutLoopbackPort(sent) : undefined) ?? sent
  return [
    ...known,
    `To register it, call startService with redirectUris, or start agent-service with --redirect-uri ${shellWord(suggested)}`,
    `If the service keeps its data, register a client at ${authUrl}/auth/v1/clients instead.`,
  ]
}

function registeredText({ name, kind, redirectUris }: RegisteredClient): string {
  const use = kind === 'public' ? 'for pages and apps; on loopback every port matches' : 'for a backend'
  return `The client_id is of ${name}, a ${kind} client (${use}). Registered for it: ${redirectUris.join(', ')}`
}

/**
 * Returns a URL to show. It has only printable ASCII, because other characters can look alike,
 * and no password.
 */
function showable(sent: string | undefined): URL | undefined {
  if (sent === undefined || sent.length > requestLimits.shownRedirectUriCharacters) return undefined
  if (!/^https?:\/\/[\x21-\x7e]+$/i.test(sent) || !URL.canParse(sent)) return undefined
  const url = new URL(sent)
  return url.username === '' && url.password === '' ? url : undefined
}
