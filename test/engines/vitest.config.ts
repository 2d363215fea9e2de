import { fileURLToPath } from 'node:url'
import type { ViteUserConfig } from 'vitest/config'
import root from '../../vitest.config.ts'
import { engineNames } from './engines.ts'

const { test } = root({ mode: 'test', command: 'serve' })
const [{ resolve } = {}] = (test?.projects ?? []) as ViteUserConfig[]

// The specs once for each engine, one engine after the other, because a page behind others or on a busy machine may be slowed down.
const config: ViteUserConfig = {
  test: {
    root: fileURLToPath(new URL('../../', import.meta.url)),
    globalSetup: ['test/support/servers.ts'],
    projects: engineNames.map((engine, at) => ({
      ...(resolve && { resolve }),
      test: {
        name: engine,
        sequence: { groupOrder: at },
        environment: 'node',
        include: ['test/engines/*.spec.ts'],
        provide: { engine, serviceDatabase: 'libsql' },
        testTimeout: 60_000,
        hookTimeout: 120_000,
      },
    })),
  },
}

export default config
