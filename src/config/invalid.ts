import { AgentAuthError } from '../errors.ts'

/** Throws `config_invalid`. `what` names the option and the values it can have, never the value it has. */
export function invalid(what: string): never {
  throw new AgentAuthError('config_invalid', `Configuration: ${what}.`)
}
