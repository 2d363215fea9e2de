import { readFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import type { AuthConfigOptions, Session, TokenStorage } from '../../../src/index.ts'

const sources = fileURLToPath(new URL('../../../src/', import.meta.url))

/** The real session, whose token requests, timers and storage belong to the world that runs it. */
export interface SessionCode {
  createAuthConfig(options: AuthConfigOptions): object
  openSession(config: object, options: { storage: TokenStorage }): { session: Session }
  AgentAuthError: new (code: string, message: string, options?: object) => Error & { code: string }
}

/** A change of the sources that makes them wrong. */
export interface PlantedBug {
  readonly file: string
  readonly from: string
  readonly to: string
}

/** Bundles the sources, perhaps with a planted bug. Timers and token requests are those of `globalThis.__world`. */
export async function bundleSession(bug?: PlantedBug): Promise<SessionCode> {
  const outfile = join(await mkdtemp(join(tmpdir(), 'interleavings-')), 'session.mjs')
  let isPlanted = !bug
  await build({
    stdin: {
      contents: ['session.ts', 'config.ts', 'errors.ts'].map((file) => `export * from './${file}'`).join('\n'),
      resolveDir: sources,
      loader: 'ts',
    },
    bundle: true,
    format: 'esm',
    platform: 'node',
    outfile,
    logLevel: 'error',
    banner: {
      js: 'const setTimeout = (f, ms) => globalThis.__world.setTimer(f, ms), clearTimeout = (t) => globalThis.__world.clearTimer(t);',
    },
    plugins: [
      {
        name: 'world',
        setup(plugin) {
          plugin.onResolve({ filter: /^\.\.\/token-endpoint\.ts$/ }, () => ({ path: 'refresh', namespace: 'world' }))
          plugin.onLoad({ filter: /./, namespace: 'world' }, () => ({
            contents:
              'export const refreshTokens = (_, tokens, { signal }) => globalThis.__world.request(tokens, signal)',
            loader: 'ts',
          }))
          plugin.onLoad({ filter: /src\/session.*\.ts$/ }, ({ path }) => {
            // The id of a sign-in is its name.
            const contents = readFileSync(path, 'utf8').replace('generateRandomState()', 'globalThis.__world.signingIn')
            if (!bug || !path.endsWith(bug.file) || !contents.includes(bug.from)) return { contents, loader: 'ts' }
            isPlanted = true
            return { contents: contents.replace(bug.from, bug.to), loader: 'ts' }
          })
        },
      },
    ],
  })
  if (!isPlanted) throw new Error(`No such text in ${bug?.file}: ${bug?.from}`)
  return (await import(`${pathToFileURL(outfile)}`)) as SessionCode
}
