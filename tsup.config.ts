import type { Options } from 'tsup'
import { oneCoreFile } from './scripts/one-core-file.ts'

/** One line for each entry of "exports" in package.json. */
const entry: Record<string, string> = {
  index: 'src/index.ts',
  api: 'src/api/index.ts',
  redis: 'src/redis/index.ts',
  postgres: 'src/postgres/index.ts',
  testing: 'src/testing/index.ts',
  browser: 'src/browser/index.ts',
  'browser/isolated': 'src/browser/isolated/index.ts',
  'browser/worker': 'src/browser/worker/index.ts',
  backend: 'src/backend/index.ts',
  'backend/node': 'src/backend/node/index.ts',
  'backend/client': 'src/backend/client/index.ts',
  react: 'src/react/index.ts',
  vue: 'src/vue/index.ts',
  svelte: 'src/svelte/index.ts',
  solid: 'src/solid/index.ts',
  discovery: 'src/discovery/index.ts',
  node: 'src/node/index.ts',
  opentelemetry: 'src/opentelemetry/index.ts',
  texts: 'src/texts/index.ts',
}

/** `tsup --no-dts`: JavaScript only and nothing cleaned, for `npm run demo` and `npm run service`. */
const fast = process.argv.includes('--no-dts')

const options: Options = {
  entry,
  ...oneCoreFile,
  format: 'esm',
  target: 'es2022',
  platform: 'neutral',
  external: ['oauth4webapi', 'jose', 'react', 'vue', 'solid-js', '@hono/node-server', '@opentelemetry/api', /^node:/],
  // Deno and Workers know the modules of Node by their prefix only.
  removeNodeProtocol: false,
  splitting: true,
  treeshake: true,
  sourcemap: !fast,
  clean: !fast,
  // tsup sets baseUrl, which TypeScript 6 calls deprecated; the types are bundled, so the .ts extensions go away.
  // `npm run check` compiles the sources once, with tsc.
  dts: fast
    ? false
    : {
        compilerOptions: { ignoreDeprecations: '6.0', allowImportingTsExtensions: true, noEmit: false, noCheck: true },
      },
}

export default options
