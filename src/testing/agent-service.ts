import { invalid } from '../internal/values.ts'

/** A service of the package agent-service, as far as tests of an app need it. */
export interface RunningService {
  /** Origin of the authorization server. */
  readonly authUrl: string
  /** Origin of the API. */
  readonly baseUrl: string
  /** The users with their passwords. */
  readonly people: readonly ServiceUser[]
  /** The registered clients with their secrets. */
  readonly clients: readonly ServiceClient[]
  /** Controls: faults, expiry, revocation, journal. */
  readonly dev: ServiceControls
  /** Handles a request in process, without a port. */
  fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>
  /** Stops the service. */
  close(): Promise<void>
}

/** A user of the service. */
export interface ServiceUser {
  /** The name that pages show. */
  readonly name: string
  /** The name to sign in with. */
  readonly email: string
  /** The password. */
  readonly password: string
  /** The tenant of the user. */
  readonly tenant: string
}

/** A client that is registered at the service. */
export interface ServiceClient {
  /** The name that pages show. */
  readonly name: string
  /** The `client_id`. */
  readonly clientId: string
  /** Whether the client has a secret. */
  readonly kind: 'public' | 'confidential'
  /** The secret of a confidential client. */
  readonly clientSecret?: string
  /** The tenant of the client. */
  readonly tenant: string
  /** The registered redirect URIs. */
  readonly redirectUris: readonly string[]
}

/** The controls of a service. `DevControls` of agent-service has more. */
export interface ServiceControls {
  /** Returns the time of the service in epoch milliseconds. */
  nowMs(): number
  /** Moves the clock of the service ahead, in milliseconds. */
  advance(ms: number): void
  /** Stops the clock. */
  freeze(): void
  /** Lets the clock run again. */
  unfreeze(): void
  /** Makes every access token expired. */
  expireAccessTokens(): Promise<void>
  /** Revokes every refresh token. */
  revokeRefreshTokens(): Promise<void>
  /** Makes authorize redirect without pages, signed in and approved as this user. `undefined` turns it off. */
  autoApprove(email: string | undefined): void
  /** Makes authorize redirect without pages with `access_denied`, as if this user had denied. `undefined` turns it off. */
  autoDeny(email: string | undefined): void
  /** Returns the email address that `autoApprove` set, or undefined. */
  autoApproved(): string | undefined
  /** Adds a fault: requests that match it fail. */
  addFault(rule: ServiceFault): void
  /** Removes all faults. */
  clearFaults(): void
  /** Returns the requests and events so far. */
  journal(): readonly object[]
  /** Restores the initial data, and removes faults and automatic approval. */
  reset(): Promise<void>
}

/** A fault: which requests it hits, what happens to them, and how often. */
export interface ServiceFault {
  /** Selects the requests. Default: all. A path that ends with `*` matches every path with that beginning. */
  match?: { method?: string | undefined; path?: string | undefined; origin?: 'auth' | 'base' | undefined } | undefined
  /**
   * Another response, a delay in milliseconds, or a broken connection: before anything is done (`reset`), after everything is done
   * (`drop-after-commit`), or in the middle of the response (`truncate`).
   */
  effect:
    | { status: number; body?: unknown; headers?: Record<string, string> | undefined }
    | { delayMs: number }
    | 'reset'
    | 'truncate'
    | 'drop-after-commit'
  /** How many requests it hits. Default: all until the faults are cleared. */
  times?: number | undefined
}

/** How to reach the service: by calls in this process, or over ports on loopback, for browsers and other processes. */
export type ServiceTransport = 'in-process' | 'loopback'

interface AgentServicePackage {
  createService(options: object): Promise<RunningService>
  startService(options: object): Promise<RunningService>
}

/**
 * The origins of a service in this process. The Fetch standard blocks requests to these two ports, so a request that bypasses
 * `options.fetch` fails, and reaches no service that listens on the ports of `agent-service --dev`.
 */
const portlessOrigins = { authUrl: 'http://127.0.0.1:1', baseUrl: 'http://127.0.0.1:7' } as const

/** Starts agent-service. Throws `config_invalid` if that is not installed. */
export async function startAgentService(transport: ServiceTransport, options: object): Promise<RunningService> {
  // The name is no literal, because bundlers and the type checker resolve a literal also where the optional peer is absent.
  const name: string = 'agent-service'
  const loaded: Promise<AgentServicePackage> = import(/* @vite-ignore */ name)
  const { createService, startService } = await loaded.catch((error: { code?: unknown }) => {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error
    return invalid('testService needs agent-service. Run npm install --save-dev agent-service')
  })
  return transport === 'loopback' ? startService(options) : createService({ ...portlessOrigins, ...options })
}
