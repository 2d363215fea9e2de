import type { AccessChange } from './access-change.ts'
import type { Seed } from './seed/seed-schema.ts'

/** The options of `createService` and `startService`. Each has a default. */
export interface ServiceOptions {
  /** `on` serves the `/_dev/*` controls on loopback. Both origins must be loopback then. Default: `off`. */
  dev?: 'on' | 'off' | undefined
  /**
   * Address on which `startService` listens: 127.0.0.1 to 127.255.255.255, `::1`, or another one with `plainHttp` or TLS. Default:
   * 127.0.0.1.
   */
  host?: string | undefined
  /**
   * Whether other machines may reach the service without TLS, on a private network such as that of containers. Default:
   * `refused`: then a host beyond loopback needs https in `authUrl` and `baseUrl`, or trusted proxies.
   */
  plainHttp?: 'refused' | 'allowed' | undefined
  /** Port of the authorization server, of `startService`. Default: a free one. */
  authPort?: number | undefined
  /** Port of the API, of `startService`. Default: a free one. */
  basePort?: number | undefined
  /** Public origin of the authorization server. Default: its own address on loopback. */
  authUrl?: string | undefined
  /** Public origin of the API. Default: its own address on loopback. */
  baseUrl?: string | undefined
  /** File of the database, created with mode 0600. Default: the data stays in memory. */
  dataFile?: string | undefined
  /** `postgresql://…`: a PostgreSQL database, which several processes may share. Excludes `dataFile`. */
  databaseUrl?: string | undefined
  /** How passwords are hashed. Default: `keyed` in memory, otherwise `scrypt`. */
  passwordScheme?: 'scrypt' | 'keyed' | undefined
  /** Whether a refresh replaces the refresh token. Default: `rotate`. */
  rotation?: 'rotate' | 'none' | undefined
  /** Grace period of a replaced refresh token, in milliseconds (0 to 600,000). Default: 30,000. */
  graceMs?: number | undefined
  /** Lifetime of an access token, in milliseconds (1,000 to 3,600,000). Default: 600,000. */
  accessTokenLifeMs?: number | undefined
  /** Lifetime of an authorization code, in milliseconds (1,000 to 600,000). Default: 60,000. */
  codeLifeMs?: number | undefined
  /** Members of a token response. `minimal` has `access_token` and `refresh_token` only. Default: `full`. */
  tokenResponse?: 'full' | 'minimal' | undefined
  /** Whether access tokens have `name` and `email` of the user (`profile`). Default: `standard`, without them. */
  tokenClaims?: 'standard' | 'profile' | undefined
  /** Data to start an empty database with: the path of a seed file, or a seed. Default: the demo data. */
  seed?: string | Seed | undefined
  /** Redirect URIs to register for every demo client, in addition to the defaults. Default: none. */
  redirectUris?: string[] | undefined
  /** Origins that may read responses (CORS), in addition to those of redirect URIs. Default: none. */
  allowedOrigins?: string[] | undefined
  /** Host names without a port that requests may have, besides those of `authUrl` and `baseUrl`. Default: none. */
  allowedHosts?: string[] | undefined
  /** Which requests of the API get 403, set at each start and after a reset. Default: as seeded. */
  access?: AccessChange | undefined
  /**
   * Number of reverse proxies before the service (0 to 10). Each must append the address of its peer to X-Forwarded-For, and clients
   * must not be able to reach the service around them. Default: 0, the header is not read.
   */
  trustedProxies?: number | undefined
  /** Format of the log on the standard error. Default: `off`. */
  log?: 'off' | 'json' | 'pretty' | undefined
}
