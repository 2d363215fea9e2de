import type { TokenClaims } from 'agent-auth'
import {
  type BackendClient,
  type BackendClientOptions,
  type BackendClientState,
  createBackendClient,
} from 'agent-auth/backend/client'
import { expect, onTestFinished } from 'vitest'
import { type PageStub, stubPage } from './page-stub.ts'

type Respond = () => Response | Promise<Response>

export interface BackendClientRig {
  readonly page: PageStub
  readonly client: BackendClient
  /** The state that the session route reports, or its response. */
  session: object | Respond
  /** Responds to the logout. */
  logout: Respond
  /** Responds to all other requests. */
  other: PageStub['respond']
  another(options?: BackendClientOptions): BackendClient
}

export const dayMs = 86_400_000
/** The time now, because only some tests have a clock of their own. */
export const startMs: number = Date.now()
export const claims: TokenClaims = { subject: 'ada', tenant: 'demo', claims: { sub: 'ada', tenant: 'demo' } }
export const signedIn: BackendClientState = {
  status: 'signed-in',
  endsAtMs: startMs + dayMs,
  sessionRef: 'first',
  claims,
}
export const signedOut: BackendClientState = { status: 'signed-out' }

/** Responds as a backend whose storage cannot be read. */
export const failing: Respond = () =>
  Response.json({ code: 'storage_failed', message: 'The storage failed.', retryable: true }, { status: 503 })

/** A client in a page whose backend says at first that Ada is signed in. */
export function backendClientRig(session: BackendClientRig['session'] = signedIn): BackendClientRig {
  const page = stubPage((path, request) => {
    if (path.endsWith('/logout')) return rig.logout()
    if (!path.endsWith('/session')) return rig.other(path, request)
    return typeof rig.session === 'function' ? (rig.session as Respond)() : Response.json(rig.session)
  })
  const another = (options?: BackendClientOptions): BackendClient => {
    const client = createBackendClient(options)
    onTestFinished(() => client.close())
    return client
  }
  const rig: BackendClientRig = {
    page,
    client: another(),
    session,
    logout() {
      rig.session = signedOut
      return Response.json(signedOut)
    },
    other: () => Response.json({}),
    another,
  }
  return rig
}

/** Resolves when an event or a message has had its effect. */
export const until = (look: () => unknown, wanted: unknown): Promise<void> => expect.poll(look).toEqual(wanted)
