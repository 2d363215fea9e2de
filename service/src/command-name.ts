/** What to type for this command: in a clone it is a script of npm and not on the path. */
export function commandName(): string {
  return process.env.npm_lifecycle_event === 'service' ? 'npm run service --' : 'agent-service'
}
