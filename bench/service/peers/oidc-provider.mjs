// Plain JavaScript, because its start is measured and a loader would be measured along with it.

import { createPrivateKey, generateKeyPairSync, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'
import { Provider } from 'oidc-provider'

const hour = 3_600
const api = 'https://api.example.com'

/**
 * As it comes, with its own sign-in and consent pages (which accept any password) and its own store in memory. Its product is
 * the same as ours: an ES256 access token for the API and a rotating refresh token; no id token.
 */
export function createProvider(issuer, { clientId, redirectUri }) {
  const { info, warn } = console
  // As PEM, because Node 20 may wait for ever if it exports a key as a JWK that it has just generated.
  const { privateKey: pem } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  const privateKey = createPrivateKey(pem)
  Object.assign(console, { info: () => {}, warn: () => {} })
  try {
    return new Provider(issuer, {
      clients: [
        {
          client_id: clientId,
          redirect_uris: [redirectUri],
          grant_types: ['authorization_code', 'refresh_token'],
          response_types: ['code'],
          application_type: 'native',
          token_endpoint_auth_method: 'none',
          id_token_signed_response_alg: 'ES256',
        },
      ],
      scopes: ['api.access', 'offline_access'],
      pkce: { required: () => true },
      issueRefreshToken: async () => true,
      rotateRefreshToken: true,
      ttl: {
        AccessToken: 600,
        AuthorizationCode: 60,
        Grant: hour,
        Interaction: 600,
        RefreshToken: hour,
        Session: hour,
      },
      findAccount: (_context, sub) => ({ accountId: sub, claims: async () => ({ sub }) }),
      jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig', kid: 'bench' }] },
      features: {
        resourceIndicators: {
          enabled: true,
          defaultResource: () => api,
          useGrantedResource: () => true,
          getResourceServerInfo: () => ({
            scope: 'api.access',
            audience: api,
            accessTokenFormat: 'jwt',
            jwt: { sign: { alg: 'ES256' } },
          }),
        },
      },
      cookies: { keys: [randomBytes(16).toString('hex')] },
    })
  } finally {
    Object.assign(console, { info, warn })
  }
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const [clientId, redirectUri] = argv.slice(2)
  let handle
  const server = createServer((request, response) => handle(request, response))
  server.listen(0, '127.0.0.1', () => {
    const issuer = `http://127.0.0.1:${server.address().port}`
    handle = createProvider(issuer, { clientId, redirectUri }).callback()
    process.stdout.write(`listening on ${issuer}\n`)
  })
}
