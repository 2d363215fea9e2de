import type { ServerResponse } from 'node:http'
import type { ServiceContext } from '../context.ts'

/** What the handlers of a login tell about their request. */
export interface LoginTrace {
  /** The fields of the body. */
  fields?: (name: string) => string | undefined
  /** Sent values that were checked, so that they are no secrets. */
  plain: string[]
  /** Texts that name the authorization request. */
  links: string[]
  /** The title of the page that was shown. */
  page?: string
  /** The body of a token response. */
  tokenResponse?: Readonly<Record<string, unknown>>
}

/** The part of a response that does not arrive. */
export type Loss = 'everything' | 'second-half'

/** The bindings and variables of Hono's context. */
export interface HttpEnvironment {
  Bindings: Partial<NodeBindings> & {
    /** Set by a fault: the part of the response that the transport must lose. */
    loss?: Loss
  }
  Variables: {
    service: ServiceContext
    /** The value of `X-Request-Id`. */
    requestId: string
    /** Set once the client of a request is known: only origins of that client may read the response. */
    clientId?: string
    /** The user, and on the API host the tenant of the bearer token. */
    caller?: { personId: string; tenant?: string }
    grantType?: string
    /** With dev controls, on a request of a login: what `recordLogins` shows of it. */
    trace?: LoginTrace
    fault?: string
    /** The error code of a refusal, for the log. */
    refusal?: string
  }
}

/** Set by the Node server; absent in process. */
export interface NodeBindings {
  incoming: {
    socket: { remoteAddress?: string | undefined }
    headers: Readonly<Record<string, unknown>>
    rawHeaders: readonly string[]
  }
  outgoing: ServerResponse
}
