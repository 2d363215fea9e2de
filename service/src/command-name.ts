/** Returns how to call this command. In a clone of the repository it is a script of npm. */
export function commandName(): string {
  return process.env.npm_lifecycle_event === 'service' ? 'npm run service --' : 'agent-service'
}
