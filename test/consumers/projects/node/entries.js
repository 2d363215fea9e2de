import { readFileSync } from 'node:fs'

const { exports } = JSON.parse(readFileSync('node_modules/agent-auth/package.json', 'utf8'))

/** The name of each entry that is a module. */
export const entries = Object.keys(exports)
  .filter((name) => !name.endsWith('.json'))
  .map((name) => name.replace('.', 'agent-auth'))
