import { entries } from './entries.js'
import { login } from './login.js'

/** What an import could change for the whole process: globals, listeners, timers. */
const traces = () => {
  const timers = process.getActiveResourcesInfo().filter((name) => name === 'Timeout')
  return [...Object.getOwnPropertyNames(globalThis), ...process.eventNames(), ...timers].map(String)
}

// Vue and Solid leave marks of their own.
await Promise.all([import('vue'), import('solid-js')])
const before = traces()
for (const entry of entries) {
  if (Object.keys(await import(entry)).length === 0) throw new Error(`${entry} exports nothing`)
  const added = traces().filter((name) => !before.includes(name))
  if (added.length > 0) throw new Error(`the import of ${entry} adds ${added.join(', ')}`)
}
await login(JSON.parse(process.argv[2]))
