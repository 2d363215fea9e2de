/** Returns how to call this command. In a clone of the repository it is a script of npm, and in an app npx finds it. */
export function commandName(): string {
  const { npm_lifecycle_event: script } = process.env
  if (script === 'service') return 'npm run service --'
  return script === 'npx' ? 'npx agent-service' : 'agent-service'
}
