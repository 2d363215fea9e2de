import { basename, relative } from 'node:path'

/** Returns the text as one word of a command line to copy. A shell expands nothing in single quotes, which `cmd` of Windows lacks. */
export function shellWord(text: string): string {
  if (/^[\w./:@=,+-]+$/.test(text)) return text
  return process.platform === 'win32' ? `"${text}"` : `'${text.replaceAll("'", "'\\''")}'`
}

/**
 * Returns how to call this command. In a clone of the repository it is a script of npm. In an app, npx finds it, also if a script of
 * the app started it. Without npm, Node may have been started with its file, as in a container.
 */
export function commandName(): string {
  const { npm_lifecycle_event: script, npm_package_name: packageName } = process.env
  if (script === 'service' && packageName === 'agent-auth') return 'npm run service --'
  if (script) return 'npx agent-service'
  const [, file = ''] = process.argv
  return basename(file) === 'cli.js' ? `node ${shellWord(relative('', file))}` : 'agent-service'
}
