/** Returns the text as one word of a command line to copy. A shell expands nothing in single quotes, which `cmd` of Windows lacks. */
export function shellWord(text: string): string {
  if (/^[\w./:@=,+-]+$/.test(text)) return text
  return process.platform === 'win32' ? `"${text}"` : `'${text.replaceAll("'", "'\\''")}'`
}
