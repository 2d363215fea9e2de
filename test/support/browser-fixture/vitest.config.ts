import type { ViteUserConfig } from 'vitest/config'

/** Tests that no ordinary run finds: some of them fail. */
const config: ViteUserConfig = {
  test: { include: ['*.fixture.ts'], setupFiles: ['../browser-failures.ts'] },
}

export default config
