import type { Options } from 'tsup'
import { defineConfig } from 'tsup'

const config: Options | Options[] | ((override: Options) => unknown) = defineConfig({
  entry: ['src/index.ts', 'src/cli.ts'],
  format: ['esm'],
  target: 'node20',
  dts: { compilerOptions: { ignoreDeprecations: '6.0' } },
  clean: true,
})

export default config
