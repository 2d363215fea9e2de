import { isNear } from '../config/check-options.ts'

/** Returns what is wrong with the arguments that `parseArgs` refused, and the options that were probably meant. */
export function argumentProblem(error: unknown, args: readonly string[], options: readonly string[]): string {
  const { code, message } = error as { code?: unknown; message?: unknown }
  // A value that begins with a hyphen, such as -1, looks like the next option.
  const [, flag] = /'(?:-\w, )?--([\w-]+)' argument is ambiguous/.exec(String(message)) ?? []
  if (flag !== undefined) return `--${flag} takes a value; write --${flag}=VALUE if it begins with a hyphen`
  if (code !== 'ERR_PARSE_ARGS_UNKNOWN_OPTION') return typeof message === 'string' ? message : 'unknown arguments'
  // Of `-profile`, the error names -p alone.
  const whole = options.find((option) => args.some((arg) => arg === `-${option}` || arg.startsWith(`-${option}=`)))
  if (whole !== undefined) return `there is no option -${whole}; did you mean --${whole}?`
  // Other text may be a value in the wrong place, such as a secret.
  const [, name] = /^[^']*'(-{1,2}[\w-]{1,24})'/.exec(String(message)) ?? []
  if (name === undefined) return 'there is an unknown option'
  const meant = meantOptions(name.replace(/^-+/, ''), options)
  return `there is no option ${name}${meant.length > 0 ? `; did you mean ${meant.join(' or ')}?` : ''}`
}

/** Returns the option whose name is near, or else those that share a word with it: `--url` may be each of two. */
function meantOptions(name: string, options: readonly string[]): string[] {
  const near = options.find((option) => isNear(lettersOf(name), lettersOf(option), Math.min(2, name.length >> 1)))
  const words = name.split('-')
  const sharing = options.filter((option) => option.split('-').some((word) => words.includes(word)))
  return (near === undefined ? sharing : [near]).map((option) => `--${option}`)
}

function lettersOf(name: string): string {
  return name.toLowerCase().replace(/[-_]/g, '')
}
