import type { Options } from 'tsup'

/** The command, which is built after the entries. Each of its parts is a file that is loaded when it is used. */
const options: Options = {
  entry: { command: 'src/command/main.ts' },
  format: 'esm',
  target: 'es2022',
  platform: 'node',
  external: ['oauth4webapi', 'jose'],
  splitting: true,
  treeshake: true,
  sourcemap: true,
}

export default options
