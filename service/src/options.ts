import { isIP } from 'node:net'
import * as z from 'zod/mini'
import { accessChange } from './access-change.ts'
import { listed } from './issue-text.ts'
import { defaultPorts, lifetimeRanges, trustedProxies } from './limits.ts'
import type { Seed } from './seed/seed-schema.ts'
import type { ServiceOptions } from './service-options.ts'

/** One option: its check, its flag and its texts for the help and the README. */
export interface Option<Value = unknown> {
  readonly schema: z.ZodMiniType<Value>
  /** How the text of a flag or a variable becomes the value. */
  readonly kind: 'switch' | 'number' | 'list' | 'json' | 'text'
  /** What the option takes, for a message. */
  readonly expected: string
  /** The flag without its hyphens. The variable is `AGENT_SERVICE_` and the flag in upper case. */
  readonly flag: string
  /** The placeholder of the value. Absent: a switch, which is `on` or `off` in its variable. */
  readonly value?: string
  /** The default. */
  readonly standard: string
  /** What the option sets, without a period at its end. Names stand between backticks. */
  readonly meaning: string
}

type Kind<Value> = Pick<Option<Value>, 'schema' | 'kind' | 'expected'>

function choice<Name extends string>(...choices: Name[]): Kind<Name> {
  return { schema: z.enum(choices) as unknown as z.ZodMiniType<Name>, kind: 'text', expected: listed(choices) }
}

function wholeNumber({ least, most }: { least: number; most: number }): Kind<number> {
  const schema = z.int().check(z.gte(least), z.lte(most))
  return { schema, kind: 'number', expected: `a whole number from ${least} to ${most}` }
}

function text(expected: string, isValid: (text: string) => boolean): Kind<string> {
  return { schema: z.string().check(z.refine(isValid)), kind: 'text', expected }
}

function list(schema: z.ZodMiniType<string>, expected: string): Kind<string[]> {
  return { schema: z.array(schema), kind: 'list', expected }
}

const switched: Kind<'on' | 'off'> = { ...choice('on', 'off'), kind: 'switch' }
const port = { ...wholeNumber({ least: 0, most: 65_535 }), value: 'PORT' }
const originSchema = z.pipe(
  z.string().check(z.refine(isOrigin)),
  z.transform((text) => new URL(text).origin),
)
const origin: Kind<string> = {
  schema: originSchema,
  kind: 'text',
  expected: 'an http or https origin without path, query or userinfo',
}

function isOrigin(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url !== undefined && /^https?:$/.test(url.protocol) && text.replace(/\/$/, '') === url.origin
}

function isPostgres(text: string): boolean {
  return URL.canParse(text) && /^postgres(?:ql)?:$/.test(new URL(text).protocol)
}

function isSeed(value: unknown): boolean {
  return typeof value === 'string' ? value !== '' : typeof value === 'object' && value !== null
}

type OptionsOf<Options> = { readonly [Name in keyof Options]-?: Option<Exclude<Options[Name], undefined>> }

/** The options of `createService` and `startService`. The command, its help and the table of the README come from this list. */
export const serviceOptions: OptionsOf<ServiceOptions> = {
  dev: {
    ...switched,
    flag: 'dev',
    standard: 'off',
    meaning:
      'serves the `/_dev/*` controls (clock, expiry, journal, reset); refuses public URLs or a host that other machines can reach, and requests that a proxy forwarded',
  },
  authPort: {
    ...port,
    flag: 'auth-port',
    standard: `${defaultPorts.auth}, in code a free one`,
    meaning: 'port of the authorization host; 0 picks a free one',
  },
  basePort: {
    ...port,
    flag: 'base-port',
    standard: `${defaultPorts.base}, in code a free one`,
    meaning: 'port of the API host; 0 picks a free one',
  },
  host: {
    ...text('an IP address such as 127.0.0.1, 0.0.0.0 or ::1', (host) => isIP(host) !== 0),
    flag: 'host',
    value: 'ADDRESS',
    standard: '127.0.0.1',
    meaning:
      'IP address to listen on; one beyond loopback, such as 0.0.0.0, needs https in both public URLs, trusted proxies or `plainHttp`',
  },
  plainHttp: {
    ...choice('refused', 'allowed'),
    flag: 'plain-http',
    value: 'POLICY',
    standard: 'refused',
    meaning: '`allowed` lets a host beyond loopback do without TLS, on a private network such as that of containers',
  },
  authUrl: {
    ...origin,
    flag: 'auth-url',
    value: 'ORIGIN',
    standard: 'the host with its port',
    meaning: 'origin by which clients call the authorization host, without a path',
  },
  baseUrl: {
    ...origin,
    flag: 'base-url',
    value: 'ORIGIN',
    standard: 'the host with its port',
    meaning: 'origin by which clients call the API host; it differs from the other one',
  },
  trustedProxies: {
    ...wholeNumber(trustedProxies),
    flag: 'trusted-proxies',
    value: 'N',
    standard: String(trustedProxies.standard),
    meaning:
      "how many reverse proxies are in front of the service; each must append its peer's address to `X-Forwarded-For`, which is not read without this option",
  },
  dataFile: {
    ...text('the path of a file', (path) => path !== ''),
    flag: 'data',
    value: 'FILE',
    standard: 'in memory: passwords, client ids and secrets are new at each start',
    meaning: 'keeps the data in a file, created with mode 0600',
  },
  databaseUrl: {
    ...text('a postgresql:// URL', isPostgres),
    flag: 'database-url',
    value: 'URL',
    standard: 'in memory',
    meaning:
      '`postgresql://…`: keeps the data in PostgreSQL, which several processes may share; other users can read flags, so set the variable or `DATABASE_URL`',
  },
  seed: {
    schema: z.custom<string | Seed>(isSeed),
    kind: 'text',
    expected: 'the path of a seed file, or a seed as an object',
    flag: 'seed',
    value: 'FILE',
    standard: 'the demo data',
    meaning:
      'JSON or YAML file with tenants, people, clients, models and agents for an empty database; refused if the database holds other data',
  },
  redirectUris: {
    ...list(z.string(), 'URIs'),
    flag: 'redirect-uri',
    value: 'URI',
    standard: 'none',
    meaning:
      'one more redirect URI for every demo client, with the first start on these data; https, or http on 127.0.0.1 or [::1] (not localhost)',
  },
  allowedOrigins: {
    ...list(originSchema, 'http or https origins without path, query or userinfo'),
    flag: 'allowed-origin',
    value: 'ORIGIN',
    standard: 'none',
    meaning: 'origin whose pages may read responses, in addition to those of redirect URIs',
  },
  allowedHosts: {
    // A pattern or a URL would never match.
    ...list(
      z.string().check(z.regex(/^[a-z\d](?:[a-z\d.-]*[a-z\d])?$/i), z.toLowerCase()),
      'host names without scheme, port or wildcard',
    ),
    flag: 'allowed-host',
    value: 'NAME',
    standard: 'none',
    meaning:
      'one more host name that requests may have, without a port, such as the name of a container on a private network',
  },
  access: {
    schema: accessChange,
    kind: 'json',
    expected: 'an object as JSON',
    flag: 'access',
    value: 'JSON',
    standard: 'as in the data',
    meaning: 'which requests of the API get 403, as `/_dev/access` takes it, at each start and after a reset',
  },
  passwordScheme: {
    ...choice('scrypt', 'keyed'),
    flag: 'password-scheme',
    value: 'SCHEME',
    standard: 'scrypt, in memory keyed',
    meaning: '`keyed` hashes generated passwords quickly, for tests on a database of their own',
  },
  rotation: {
    ...choice('rotate', 'none'),
    flag: 'rotation',
    value: 'POLICY',
    standard: 'rotate',
    meaning: '`none` keeps one refresh token for the whole grant',
  },
  graceMs: {
    ...wholeNumber(lifetimeRanges.graceMs),
    flag: 'grace-ms',
    value: 'MS',
    standard: String(lifetimeRanges.graceMs.standard),
    meaning: 'how long a replaced refresh token gives the same successor; 0 turns it off',
  },
  accessTokenLifeMs: {
    ...wholeNumber(lifetimeRanges.accessTokenLifeMs),
    flag: 'access-token-life-ms',
    value: 'MS',
    standard: String(lifetimeRanges.accessTokenLifeMs.standard),
    meaning: 'lifetime of an access token',
  },
  codeLifeMs: {
    ...wholeNumber(lifetimeRanges.codeLifeMs),
    flag: 'code-life-ms',
    value: 'MS',
    standard: String(lifetimeRanges.codeLifeMs.standard),
    meaning: 'lifetime of an authorization code',
  },
  tokenResponse: {
    ...choice('full', 'minimal'),
    flag: 'token-response',
    value: 'MEMBERS',
    standard: 'full',
    meaning: '`minimal` sends `access_token` and `refresh_token` only',
  },
  tokenClaims: {
    ...choice('standard', 'profile'),
    flag: 'token-claims',
    value: 'CLAIMS',
    standard: 'standard',
    meaning: '`profile` adds `name` and `email` of the user to access tokens, for applications that show them',
  },
  log: {
    ...choice('json', 'pretty', 'off'),
    flag: 'log',
    value: 'FORMAT',
    standard: 'off',
    meaning: '`json` or `pretty` logs requests and security events to the standard error, without secrets',
  },
}

/** The frameworks of `--env`. Each passes variables with another prefix to pages. */
export type Framework = 'vite' | 'next' | 'node'

/** What only the command has: it says what it prints and opens. */
interface CommandOptions {
  json?: 'on' | 'off'
  env?: Framework
  quiet?: 'on' | 'off'
  open?: 'on' | 'off'
}

/** The options of the command alone. */
export const commandOptions: OptionsOf<CommandOptions> = {
  json: { ...switched, flag: 'json', standard: 'off', meaning: 'prints one JSON line instead of text' },
  env: {
    ...choice('vite', 'next', 'node'),
    flag: 'env',
    value: 'FRAMEWORK',
    standard: 'all names, without prefixes',
    meaning:
      'names for the printed .env: vite (`VITE_…` for pages, a second file for a backend), next (`NEXT_PUBLIC_…` for pages, no prefix for the server) or node (a backend alone)',
  },
  quiet: { ...switched, flag: 'quiet', standard: 'off', meaning: 'prints nothing but warnings and errors' },
  open: {
    ...switched,
    flag: 'open',
    standard: 'off',
    meaning: 'opens the dev page in the browser, or without dev controls the description of the API',
  },
}
