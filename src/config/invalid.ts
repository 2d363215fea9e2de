import { AgentAuthError } from '../errors.ts'

/** Throws `config_invalid`. `what` names the option and what it must be, never its value. */
export function invalid(what: string): never {
  throw new AgentAuthError('config_invalid', `Configuration: ${what}.`)
}
