import { meantNames, nearName } from '../near-name.ts'

interface Known {
  /** The arguments, as typed. */
  readonly args: readonly string[]
  /** The options, without their hyphens. */
  readonly flags: readonly string[]
  readonly words: readonly string[]
  /** Returns what a flag takes. Absent: a value. */
  readonly expectedBy?: (flag: string) => string | undefined
}

/** Returns what is wrong with the arguments that `parseArgs` refused, and the flag or word that was probably meant. */
export function argumentProblem(error: unknown, known: Known): string {
  const { code, message } = error as { code?: unknown; message?: unknown }
  const text = typeof message === 'string' ? message : 'unknown arguments'
  // Other text may be a value in the wrong place, such as a secret.
  const name = /^[^']*'(-{0,2}[\w-]{1,24})'/.exec(text)?.[1]
  if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') {
    // Of `-dev`, the error names -d alone.
    const whole = known.flags.find((flag) =>
      known.args.some((arg) => arg === `-${flag}` || arg.startsWith(`-${flag}=`)),
    )
    if (whole !== undefined) return `there is no option -${whole}; did you mean --${whole}?`
    if (name === undefined) return 'there is an unknown option'
    const meant = meantNames(name.replace(/^-+/, ''), known.flags).map((flag) => `--${flag}`)
    return `there is no option ${name}${meant.length === 0 ? '' : `; did you mean ${meant.join(' or ')}?`}`
  }
  if (code === 'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL') {
    if (name === undefined) return 'there is an argument that belongs to no option'
    const meant = nearName(name, known.words)
    return `there is no argument ${name}${meant === undefined ? '; options begin with --' : `; did you mean ${meant}?`}`
  }
  // A value that begins with a hyphen, such as -1, looks like the next option.
  const flag = /'(?:-\w, )?--([\w-]+)' argument is ambiguous/.exec(text)?.[1]
  if (flag === undefined) return text
  return `--${flag} takes ${known.expectedBy?.(flag) ?? `a value; write --${flag}=VALUE if it begins with a hyphen`}`
}
