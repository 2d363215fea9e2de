import type { ServerResponse } from 'node:http'
import type { ServiceContext } from '../context.ts'
import type { Loss } from './lost-response.ts'

/** The calls of each tenant that the API runs at the same time. */
export interface TenantTurns {
  /** Runs the task when it is the tenant's turn. Rejects with 429 if too many calls wait, or one waits too long. */
  run<Value>(tenant: string, task: () => Promise<Value>): Promise<Value>
  /** Counts the bytes of an answer until the returned function is called. */
  holdBytes(tenant: string, bytes: number): () => void
  /** How many tenants are remembered. */
  readonly size: number
}

/** What a handler finds on Hono's context. */
export interface HttpEnvironment {
  Bindings: Partial<NodeBindings> & {
    /** Set by a fault: the part of the answer that the transport has to lose. */
    loss?: Loss
  }
  Variables: {
    service: ServiceContext
    /** On the API host: the turns of its tenants. */
    turns: TenantTurns
    /** Set once a request is known to speak for one client: only that client's origins may read the answer (S-045). */
    clientId?: string
    /** Who a bearer token speaks for. */
    caller?: { personId: string; tenant: string }
    grantType?: string
    fault?: string
  }
}

/** What the Node server hands over; absent in process. */
export interface NodeBindings {
  incoming: { socket: { remoteAddress?: string | undefined } }
  outgoing: ServerResponse
}

/** The address of the connection; client-address.ts has the one that configured proxies tell. */
export function addressOf(env: Partial<NodeBindings> | undefined): string {
  return env?.incoming?.socket.remoteAddress ?? 'in-process'
}
