import type { OptionEntry } from './option-entry.ts'

/** The frameworks of `--env`. Each passes variables with another prefix to pages. */
export const frameworks = ['vite', 'next', 'node'] as const
export type Framework = (typeof frameworks)[number]

/**
 * The options of the command alone: they say what it prints and opens. options.ts has the flags, defaults and ranges of the service
 * itself. cli/read-options.ts reads both kinds from flags and variables, and config.ts checks the options of the service.
 */
export const commandOptions: Record<'json' | 'env' | 'quiet' | 'open', OptionEntry> = {
  json: { flag: 'json', kind: 'switch', standard: 'off', meaning: 'prints one JSON line instead of text' },
  env: {
    flag: 'env',
    kind: 'choice',
    choices: frameworks,
    value: 'FRAMEWORK',
    standard: 'all names, without prefixes',
    meaning:
      'names for the printed .env: vite (`VITE_…` for pages, a second file for a backend), next (`NEXT_PUBLIC_…` for pages, no prefix for the server) or node (a backend alone)',
  },
  quiet: { flag: 'quiet', kind: 'switch', standard: 'off', meaning: 'prints nothing but warnings and errors' },
  open: {
    flag: 'open',
    kind: 'switch',
    standard: 'off',
    meaning: 'opens the dev page in the browser, or without dev controls the description of the API',
  },
}
