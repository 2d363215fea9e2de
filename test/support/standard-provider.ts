import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Configuration } from 'oidc-provider'
import { listen } from './listen.ts'
import { followLogin } from './standard-login.ts'

export interface StandardProvider {
  readonly issuer: string
  readonly authorizationEndpoint: string
  readonly tokenEndpoint: string
  /** PKCE required, no credentials. */
  readonly publicClient: { readonly clientId: string; readonly redirectUri: string }
  /** client_secret_basic; PKCE required as well. */
  readonly confidentialClient: {
    readonly clientId: string
    readonly clientSecret: string
    readonly redirectUri: string
  }
  /** The redirect URI of a backend, for both clients. */
  readonly backendRedirectUri: string
  /** Signs a person in and consents; resolves to the callback URL that a browser would have been sent to. */
  completeLogin(authorizeUrl: string | URL, redirectUri?: string): Promise<string>
  close(): Promise<void>
}

const redirectUri = 'http://127.0.0.1:8976/callback'
const backendRedirectUri = 'http://127.0.0.1:8976/auth/callback'

/**
 * A certified OpenID provider on loopback: somebody else's idea of RFC 6749, RFC 7636 and RFC 9207. Refresh tokens are issued for
 * scope `api.access` and rotate; a rotated one that is used again ends its grant.
 */
export async function startStandardProvider(): Promise<StandardProvider> {
  const publicClient = { clientId: 'standard-public', redirectUri }
  const clientSecret = randomBytes(24).toString('base64url')
  const confidentialClient = { clientId: 'standard-confidential', clientSecret, redirectUri }

  // The issuer names the port, so the port comes first and the provider second.
  let handle: (request: IncomingMessage, response: ServerResponse) => void = () => {}
  const server = createServer((request, response) => handle(request, response))
  const issuer = `http://127.0.0.1:${await listen(server)}`

  const provider = await quietly(async () => {
    const { Provider } = await import('oidc-provider')
    return new Provider(issuer, configuration({ publicClient, confidentialClient }))
  })
  provider.use(async (context, next) => {
    if (!context.path.startsWith('/interaction/')) return next()
    const result = { login: { accountId: 'standard-person' }, consent: {} }
    await provider.interactionFinished(context.req, context.res, result, { mergeWithLastSubmission: false })
    context.respond = false
  })
  handle = provider.callback()

  return {
    issuer,
    authorizationEndpoint: `${issuer}/authorize`,
    tokenEndpoint: `${issuer}/token`,
    publicClient,
    confidentialClient,
    backendRedirectUri,
    completeLogin: (authorizeUrl, target = redirectUri) => followLogin(String(authorizeUrl), target),
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function configuration(clients: Pick<StandardProvider, 'publicClient' | 'confidentialClient'>): Configuration {
  const { publicClient, confidentialClient } = clients
  const shared = {
    redirect_uris: [redirectUri, backendRedirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code' as const],
    // Native: the redirect is plain http on loopback.
    application_type: 'native' as const,
  }
  return {
    clients: [
      { ...shared, client_id: publicClient.clientId, token_endpoint_auth_method: 'none' },
      {
        ...shared,
        client_id: confidentialClient.clientId,
        client_secret: confidentialClient.clientSecret,
        token_endpoint_auth_method: 'client_secret_basic',
      },
    ],
    routes: { authorization: '/authorize', token: '/token' },
    scopes: ['api.access', 'offline_access'],
    pkce: { required: () => true },
    issueRefreshToken: async () => true,
    rotateRefreshToken: true,
    features: { devInteractions: { enabled: false }, revocation: { enabled: true, allowedPolicy: async () => true } },
    interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
    cookies: { keys: [randomBytes(16).toString('hex')] },
    findAccount: (_context, sub) => ({ accountId: sub, claims: async () => ({ sub }) }),
    // The grant exists as soon as there is a person: consent has nothing left to ask.
    async loadExistingGrant(context) {
      const { client, session, provider } = context.oidc
      const grant = new provider.Grant({ clientId: client?.clientId, accountId: session?.accountId })
      grant.addOIDCScope('openid api.access offline_access')
      await grant.save()
      return grant
    },
    ttl: {
      AccessToken: 60,
      AuthorizationCode: 60,
      Grant: 600,
      IdToken: 60,
      Interaction: 60,
      RefreshToken: 600,
      Session: 600,
    },
  }
}

/** The provider warns of its in-memory store, its generated keys and older platforms: all of them what a test wants. */
async function quietly<T>(build: () => Promise<T>): Promise<T> {
  const { console: printer } = globalThis
  const { info, warn } = printer
  Object.assign(printer, { info: () => {}, warn: () => {} })
  try {
    return await build()
  } finally {
    Object.assign(printer, { info, warn })
  }
}
