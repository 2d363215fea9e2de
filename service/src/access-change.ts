import type { Check } from './check-shape.ts'
import { isRecord, isText, oneOf, optional } from './check-shape.ts'
import { unknownNameText } from './near-name.ts'
import type { Permission } from './permission-names.ts'
import { clientAdminPermission, permissionNames } from './permission-names.ts'

/** The endpoints of the API, by the operation ids of its OpenAPI document. */
export const endpointIds = [
  'getParentAgentContextVariables',
  'searchParentAgents',
  'createParentAgent',
  'searchLlmModels',
] as const
/** The names of the API endpoints that take a permission. */
export type EndpointId = (typeof endpointIds)[number]

/** Changes which requests of the API get 403. A member that is absent changes nothing. */
export interface AccessChange {
  /** Billing of tenants, by id. */
  billing?: Record<string, 'active' | 'inactive'> | undefined
  /** Whether endpoints need active billing. Default: `createParentAgent` alone does. */
  endpointBilling?: Partial<Record<EndpointId, 'needed' | 'not-needed'>> | undefined
  /** Approval of clients for their tenant, by name or client id. */
  approval?: Record<string, 'approved' | 'unapproved'> | undefined
  /** Surfaces of clients, by name or client id. The API is open to clients with `api`. */
  surfaces?: Record<string, string[]> | undefined
  /** All permissions of people, by email address. A token never has more than when it was issued. */
  permissions?: Record<string, (Permission | typeof clientAdminPermission)[]> | undefined
}

const permissionsAllowed = [...permissionNames, clientAdminPermission]

/** The members of a change, each with the check of its values and with the values that the message names. */
const members: Record<keyof AccessChange, [check: Check, allowed: string]> = {
  billing: [oneOf('active', 'inactive'), 'active or inactive'],
  endpointBilling: [optional(oneOf('needed', 'not-needed')), 'needed or not-needed'],
  approval: [oneOf('approved', 'unapproved'), 'approved or unapproved'],
  surfaces: [listOf(isText), 'a list of strings such as ["api"]'],
  permissions: [listOf(oneOf(...permissionsAllowed)), `a list of ${permissionsAllowed.join(', ')}`],
}

/** Returns a copy of the change. Throws a TypeError for any other value, because a misspelt member would change nothing. */
export function readAccessChange(value: unknown): AccessChange {
  const problem = changeProblem(value)
  if (problem !== undefined) throw new TypeError(`invalid access: ${problem}`)
  return structuredClone(value) as AccessChange
}

function changeProblem(value: unknown): string | undefined {
  if (!isRecord(value)) return `it is an object with ${Object.keys(members).join(', ')}`
  const unknown = Object.keys(value).find((name) => !Object.hasOwn(members, name))
  if (unknown !== undefined) return unknownNameText(unknown, Object.keys(members))
  return Object.entries(members)
    .map(([name, [check, allowed]]) => memberProblem(name, value[name], { check, allowed }))
    .find((problem) => problem !== undefined)
}

function memberProblem(
  name: string,
  value: unknown,
  { check, allowed }: { check: Check; allowed: string },
): string | undefined {
  if (value === undefined) return undefined
  if (!isRecord(value)) return `${name} must be an object`
  const ids: readonly string[] = endpointIds
  const unknown = name === 'endpointBilling' ? Object.keys(value).find((id) => !ids.includes(id)) : undefined
  if (unknown !== undefined) return `${name}: ${unknownNameText(unknown, ids)}`
  return Object.values(value).every(check) ? undefined : `each value of ${name} must be ${allowed}`
}

function listOf(check: Check): Check {
  return (value) => Array.isArray(value) && value.every(check)
}
