import { lifetimeRanges } from './lifetimes.ts'
import { defaultPorts, trustedProxies } from './limits.ts'
import type { OptionEntry } from './option-entry.ts'
import type { ServiceOptions } from './service-options.ts'

const port = { kind: 'number', value: 'PORT', range: { least: 0, most: 65_535 } } as const
const milliseconds = { kind: 'number', value: 'MS' } as const
const ownOrigin = { kind: 'text', value: 'ORIGIN', standard: 'the host with its port' } as const

/**
 * The options of `createService` and `startService`. The parser of the command, its help text and the table of the README come from
 * this list and that of command-options.ts, so an option that is added here works as a flag, as a variable and in code.
 */
export const serviceOptions: Record<keyof ServiceOptions, OptionEntry> = {
  dev: {
    flag: 'dev',
    kind: 'switch',
    standard: 'off',
    meaning:
      'serves the `/_dev/*` controls (clock, expiry, journal, reset); refuses public URLs or a host that other machines can reach, and requests that a proxy forwarded',
  },
  authPort: {
    flag: 'auth-port',
    ...port,
    standard: `${defaultPorts.auth}, in code a free one`,
    meaning: 'port of the authorization host; 0 picks a free one',
  },
  basePort: {
    flag: 'base-port',
    ...port,
    standard: `${defaultPorts.base}, in code a free one`,
    meaning: 'port of the API host; 0 picks a free one',
  },
  host: {
    flag: 'host',
    kind: 'text',
    value: 'ADDRESS',
    standard: '127.0.0.1',
    meaning:
      'IP address to listen on; one beyond loopback, such as 0.0.0.0, needs https in both public URLs, trusted proxies or `plainHttp`',
  },
  plainHttp: {
    flag: 'plain-http',
    kind: 'choice',
    choices: ['refused', 'allowed'],
    value: 'POLICY',
    standard: 'refused',
    meaning: '`allowed` lets a host beyond loopback do without TLS, on a private network such as that of containers',
  },
  authUrl: {
    flag: 'auth-url',
    ...ownOrigin,
    meaning: 'origin by which clients call the authorization host, without a path',
  },
  baseUrl: {
    flag: 'base-url',
    ...ownOrigin,
    meaning: 'origin by which clients call the API host; it differs from the other one',
  },
  trustedProxies: {
    flag: 'trusted-proxies',
    kind: 'number',
    value: 'N',
    range: trustedProxies,
    standard: String(trustedProxies.standard),
    meaning:
      "how many reverse proxies are in front of the service; each must append its peer's address to `X-Forwarded-For`, which is not read without this option",
  },
  dataFile: {
    flag: 'data',
    kind: 'text',
    value: 'FILE',
    standard: 'in memory: passwords, client ids and secrets are new at each start',
    meaning: 'keeps the data in a file, created with mode 0600',
  },
  databaseUrl: {
    flag: 'database-url',
    kind: 'text',
    value: 'URL',
    standard: 'in memory',
    meaning:
      '`postgresql://…`: keeps the data in PostgreSQL, which several processes may share; other users can read flags, so set the variable or `DATABASE_URL`',
  },
  seed: {
    flag: 'seed',
    kind: 'text',
    value: 'FILE',
    standard: 'the demo data',
    meaning:
      'JSON or YAML file with tenants, people, clients, models and agents for an empty database; refused if the database holds other data',
  },
  redirectUris: {
    flag: 'redirect-uri',
    kind: 'list',
    value: 'URI',
    standard: 'none',
    meaning:
      'one more redirect URI for every demo client, with the first start on these data; https, or http on 127.0.0.1 or [::1] (not localhost)',
  },
  allowedOrigins: {
    flag: 'allowed-origin',
    kind: 'list',
    value: 'ORIGIN',
    standard: 'none',
    meaning: 'origin whose pages may read responses, in addition to those of redirect URIs',
  },
  allowedHosts: {
    flag: 'allowed-host',
    kind: 'list',
    value: 'NAME',
    standard: 'none',
    meaning:
      'one more host name that requests may have, without a port, such as the name of a container on a private network',
  },
  access: {
    flag: 'access',
    kind: 'json',
    value: 'JSON',
    standard: 'as in the data',
    meaning: 'which requests of the API get 403, as `/_dev/access` takes it, at each start and after a reset',
  },
  passwordScheme: {
    flag: 'password-scheme',
    kind: 'choice',
    choices: ['scrypt', 'keyed'],
    value: 'SCHEME',
    standard: 'scrypt, in memory keyed',
    meaning: '`keyed` hashes generated passwords quickly, for tests on a database of their own',
  },
  rotation: {
    flag: 'rotation',
    kind: 'choice',
    choices: ['rotate', 'none'],
    value: 'POLICY',
    standard: 'rotate',
    meaning: '`none` keeps one refresh token for the whole grant',
  },
  graceMs: {
    flag: 'grace-ms',
    ...milliseconds,
    range: lifetimeRanges.graceMs,
    standard: String(lifetimeRanges.graceMs.standard),
    meaning: 'how long a replaced refresh token gives the same successor; 0 turns it off',
  },
  accessTokenLifeMs: {
    flag: 'access-token-life-ms',
    ...milliseconds,
    range: lifetimeRanges.accessTokenLifeMs,
    standard: String(lifetimeRanges.accessTokenLifeMs.standard),
    meaning: 'lifetime of an access token',
  },
  codeLifeMs: {
    flag: 'code-life-ms',
    ...milliseconds,
    range: lifetimeRanges.codeLifeMs,
    standard: String(lifetimeRanges.codeLifeMs.standard),
    meaning: 'lifetime of an authorization code',
  },
  tokenResponse: {
    flag: 'token-response',
    kind: 'choice',
    choices: ['full', 'minimal'],
    value: 'MEMBERS',
    standard: 'full',
    meaning: '`minimal` sends `access_token` and `refresh_token` only',
  },
  log: {
    flag: 'log',
    kind: 'choice',
    choices: ['json', 'pretty', 'off'],
    value: 'FORMAT',
    standard: 'off',
    meaning: '`json` or `pretty` logs requests and security events to the standard error, without secrets',
  },
}
