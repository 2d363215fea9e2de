import { fileURLToPath } from 'node:url'
import type { ViteUserConfig } from 'vitest/config'
import root from '../../vitest.config.ts'
import { engineNames } from './engines.ts'

const [{ resolve } = {}] = (root.test?.projects ?? []) as ViteUserConfig[]

// The specs once for each engine, one file after the other: an engine takes a machine's attention.
const config: ViteUserConfig = {
  test: {
    root: fileURLToPath(new URL('../../', import.meta.url)),
    fileParallelism: false,
    globalSetup: ['test/support/servers.ts'],
    projects: engineNames.map((engine) => ({
      ...(resolve && { resolve }),
      test: {
        name: engine,
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
