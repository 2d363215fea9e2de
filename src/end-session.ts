import type { AuthConfig } from './config.ts'
import { checkNames } from './internal/values.ts'
import { sameOriginPath } from './return-url.ts'

/** The options of `endSessionUrl`. */
export interface EndSessionUrlOptions {
  /** Where the browser returns. Default: nowhere. A URL of another origin than the redirect URI becomes that origin's `/`. */
  readonly returnTo?: string | undefined
}

/**
 * Returns the URL that ends the browser's sign-in at the service. Navigate there after `signOut`. It names the client and where to
 * return, and has no token. Throws `config_invalid`. OpenID Connect RP-Initiated Logout 1.0 section 2.
 */
export function endSessionUrl(config: AuthConfig, options: EndSessionUrlOptions = {}): URL {
  return urlOfSessionEnd(config, checkNames('endSessionUrl', options, ['returnTo']).returnTo)
}

/** Does the work of `endSessionUrl` for callers within the library. */
export function urlOfSessionEnd(config: AuthConfig, returnTo?: string): URL {
  const { clientId, endSessionEndpoint, redirectUri } = config
  const url = new URL(endSessionEndpoint)
  url.searchParams.set('client_id', clientId)
  if (returnTo !== undefined) {
    const target = new URL(sameOriginPath(returnTo, redirectUri), redirectUri)
    url.searchParams.set('post_logout_redirect_uri', target.href)
  }
  return url
}
