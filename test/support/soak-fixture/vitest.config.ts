import type { ViteUserConfig } from 'vitest/config'

/** Tests that no ordinary run finds: some of them fail. */
const config: ViteUserConfig = {
  test: {
    projects: [{ test: { name: 'libsql', include: ['*.fixture.ts'], setupFiles: ['../stop-at-failure.ts'] } }],
  },
}

export default config
