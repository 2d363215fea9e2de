/** One option, as the command and the README name it. */
export interface OptionEntry {
  /** The flag without its hyphens. The variable is `AGENT_SERVICE_` and the flag in upper case. */
  readonly flag: string
  /** The placeholder of the value. Absent: a switch, which is `on` or `off` in its variable. */
  readonly value?: string
  readonly kind: 'switch' | 'text' | 'choice' | 'number' | 'list' | 'json'
  /** The values of a choice. */
  readonly choices?: readonly string[]
  /** The range of a number. */
  readonly range?: { readonly least: number; readonly most: number }
  /** The default, as the help text and the README name it. */
  readonly standard: string
  /** What the option sets, without a period at its end. Names stand between backticks. */
  readonly meaning: string
}

/** How the environment variable of each option begins. */
export const variablePrefix = 'AGENT_SERVICE_'

/** Returns the environment variable of an option. */
export function variableOf({ flag }: Pick<OptionEntry, 'flag'>): string {
  return variablePrefix + flag.toUpperCase().replaceAll('-', '_')
}

/** Returns whether an environment variable has the form of those of the options. */
export function isVariable(name: string): boolean {
  return name.startsWith(variablePrefix)
}
