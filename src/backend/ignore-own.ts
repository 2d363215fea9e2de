import { isAgentAuthError } from '../errors.ts'

/** For `catch`: drops an error of this library, which was an event already, and passes on any other. */
export function ignoreOwn(error: unknown): undefined {
  if (!isAgentAuthError(error)) throw error
  return undefined
}
