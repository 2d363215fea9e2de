import { nearName } from '../near-name.ts'

/** Returns what is wrong with the arguments that `parseArgs` refused, and the flag or word that was probably meant. */
export function argumentProblem(error: unknown, known: { flags: readonly string[]; words: readonly string[] }): string {
  const { code, message } = error as { code?: unknown; message?: unknown }
  const text = typeof message === 'string' ? message : 'unknown arguments'
  // Other text may be a value in the wrong place, such as a secret.
  const name = /^[^']*'(-{0,2}[\w-]{1,24})'/.exec(text)?.[1]
  if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') {
    if (name === undefined) return 'there is an unknown option'
    const meant = meantFlags(name.replace(/^-+/, ''), known.flags)
    return `there is no option ${name}${meant.length === 0 ? '' : `; did you mean ${meant.join(' or ')}?`}`
  }
  if (code === 'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL') {
    if (name === undefined) return 'there is an argument that belongs to no option'
    const meant = nearName(name, known.words)
    return `there is no argument ${name}${meant === undefined ? '; options begin with --' : `; did you mean ${meant}?`}`
  }
  return text
}

/** Returns the near flag, or those that share a word with the name: `--port` may be each of the two ports. */
function meantFlags(name: string, flags: readonly string[]): string[] {
  const near = nearName(name, flags)
  const words = name
    .replace(/([a-z])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .split('-')
  const sharing = flags.filter((flag) => flag.split('-').some((word) => words.includes(word)))
  const isNear = near !== undefined && (sharing.length === 0 || sharing.includes(near))
  return (isNear ? [near] : sharing).map((flag) => `--${flag}`)
}
