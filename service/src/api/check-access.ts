import type { Permission } from '../permission-names.ts'
import type { Bearer } from '../store/tables/bearer-tokens.ts'
import { forbidden, unbilled } from './api-error.ts'

/** What an endpoint needs. endpoints.ts has the needs of each. */
export interface EndpointNeeds {
  /** The permission that the endpoint needs in addition to `api.access` (`checkAccess`). */
  permission: Permission
  /** Endpoints that change something need a tenant whose billing is active. */
  billing: 'needed' | 'not-needed'
}

/**
 * Checks what every call needs: an approved client, if there is one, and then `api.access` (S-063). The order of all checks is that of
 * server/api-origin.ts: the origin of a page that sends a change (403, `refuseForeignOrigin`), then in `serve` the token (401),
 * `checkAccess`, method (405), `checkPermission`, and only then the body (422).
 */
export function checkAccess({ client, permissions }: Bearer): void {
  if (client !== undefined && client.approval !== 'approved') {
    throw forbidden('OAuth client is not approved for this API')
  }
  if (!permissions.includes('api.access')) throw forbidden('missing permission')
}

/** Checks the permission and then the billing that one endpoint needs. A test can change its billing (`endpointBilling`). */
export function checkPermission({ billing, permissions }: Bearer, needs: EndpointNeeds): void {
  if (!permissions.includes(needs.permission)) throw forbidden('missing permission')
  if (needs.billing === 'needed' && billing !== 'active') throw unbilled()
}
