import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { createContext, runInContext } from 'node:vm'
import { build } from 'esbuild'
import { describe, expect, it } from 'vitest'
import tsup from '../tsup.config.ts'
import {
  cycles,
  functionsOf,
  type Import,
  importsOf,
  lineCount,
  parse,
  reachable,
  sourceFiles,
  unionMembers,
} from './support/source-graph.ts'

/** The order of the core: every file may import the files before it, none after it. A stage is named after its main file. */
const stages: Record<string, string[]> = {
  ground: [
    'internal/limits.ts',
    'internal/bare-object.ts',
    'internal/present.ts',
    'internal/attempt.ts',
    'internal/json-object.ts',
    'internal/base64url.ts',
    'errors.ts',
    'oauth-error-codes.ts',
    'internal/redacted.ts',
    'internal/clock.ts',
    'internal/backoff.ts',
    'internal/timeouts.ts',
    'internal/unconnected.ts',
    'internal/discard-body.ts',
    'internal/read-at-most.ts',
  ],
  config: [
    'events.ts',
    'config/invalid.ts',
    'config/check-options.ts',
    'config/service-url.ts',
    'config/client-authentication.ts',
    'config.ts',
  ],
  tokens: ['tokens.ts', 'claims.ts'],
  'token-endpoint': ['token-endpoint/response.ts', 'token-endpoint/classify-failure.ts', 'token-endpoint.ts'],
  authorize: ['return-url.ts', 'authorize.ts'],
  callback: ['grant.ts', 'callback.ts'],
  exchange: ['exchange.ts'],
  refresh: ['refresh.ts'],
  storage: [
    'storage/token-storage.ts',
    'storage/lock.ts',
    'storage/time-limits.ts',
    'storage/memory.ts',
    'storage/jwe.ts',
    'storage/encrypted-storage.ts',
    'pending-logins.ts',
    'storage/shared/network-code.ts',
    'storage/shared/options.ts',
    'storage/shared/lease.ts',
    'storage/shared/leased-storage.ts',
  ],
  session: [
    'session/record.ts',
    'session/errors.ts',
    'session/store.ts',
    'session/state.ts',
    'session/storage-problems.ts',
    'session/recent-sign-ins.ts',
    'session/reconcile.ts',
    'session/listeners.ts',
    'session/freshness.ts',
    'session/current.ts',
    'session/decide-call.ts',
    'session/apply-stored.ts',
    'session/storage-sync.ts',
    'session/parts.ts',
    'session/save.ts',
    'session/refresh.ts',
    'session/retry-delay.ts',
    'session/refresh-retries.ts',
    'session/access-token.ts',
    'session/sign-out.ts',
    'session.ts',
  ],
  bearer: [
    'bearer/platform-request.ts',
    'bearer/targets.ts',
    'bearer/challenge.ts',
    'bearer/resend.ts',
    'bearer/settings.ts',
    'bearer.ts',
  ],
  index: ['index.ts'],
}

/** Stages that stand side by side: neither imports the other. */
const apart = [
  ['exchange', 'refresh'],
  ['storage', 'token-endpoint'],
]

/** Folders with an entry of their own. They import the core, never each other; a folder's second column is its exception. */
const edges: Record<string, string[]> = {
  api: [],
  browser: [],
  react: ['browser', 'backend/client'],
  node: [],
  command: ['node'],
  backend: ['texts'],
  'backend/client': ['backend'],
  opentelemetry: ['backend'],
  redis: [],
  postgres: [],
  testing: [],
  texts: [],
}

/** The order of the backend, as in the core: every file may import the files before it, none after it. */
const backendOrder = [
  'error-cause',
  'statuses',
  'events',
  'unheard-events',
  'responses',
  'csrf',
  'page-loads',
  'setup-problems',
  'once',
  'remove-oldest',
  'proxy/allowed-routes',
  'proxy/headers',
  'proxy/request-body',
  'proxy/response-body',
  'proxy/request-queue',
  'options',
  'cookies/cookie-attributes',
  'cookies/read-cookies',
  'cookies/pending-login-keys',
  'cookies/sha256',
  'sessions/observed-storage',
  'sessions/storage-failure-events',
  'sessions/revocation-request',
  'sessions/revocation',
  'sessions/after',
  'sessions/confirm-ended',
  'sessions/ending-marks',
  'sessions/bulk-endings',
  'sessions/last-use',
  'sessions/session-uses',
  'sessions/remove-ended',
  'sessions/hide-ended-sessions',
  'sessions/live-sessions',
  'context',
  'sessions/api-fetch',
  'cookies/session-cookie',
  'cookies/pending-login-cookie',
  'mistaken-call',
  'sessions/get-session',
  'sessions/end-session',
  'sessions/ending-calls',
  'proxy/session-check',
  'proxy/error-responses',
  'proxy/forward',
  'routes/login',
  'routes/shared-callbacks',
  'routes/callback-page',
  'routes/callback',
  'routes/session',
  'routes/logout',
  'routes/proxy',
  'backend',
  'index',
  'node/listener',
  'node/handler',
  'node/fastify',
  'node/index',
].map((name) => `backend/${name}.ts`)

/** The only entries that may need Node. */
const nodeEdges = ['node', 'command', 'backend', 'backend/node', 'redis', 'postgres']

/**
 * The rooms of the service, from the top down: a room imports rooms below it, none above or beside it. `context` and
 * `service` are files of the root; its other files are the ground, except for the entry.
 */
const rooms = [
  ['index'],
  ['cli'],
  ['server'],
  ['dev'],
  ['seed'],
  ['clients', 'openapi'],
  ['authorize'],
  ['sign-in'],
  ['token', 'api'],
  ['ui'],
  ['http'],
  ['context', 'service'],
  ['credentials'],
  ['store'],
  ['telemetry'],
  ['state'],
  ['ground'],
]

const maxFileLines = 200
const maxFunctionLines = 60

const root = fileURLToPath(new URL('../', import.meta.url))
const source = `${root}src`
const files = sourceFiles(source)
const parsed = new Map(files.map((file) => [file, parse(`${source}/${file}`)]))
const imports = [...parsed].flatMap(([file, text]) => importsOf(file, text))
const valueImports = imports.filter(({ typeOnly }) => !typeOnly)
const order = Object.values(stages).flat()
const entries = tsup.entry as Record<string, string>

/** Run in a realm: the names of its globals and of what its built-ins offer. */
const allNames = `JSON.stringify([globalThis, ...[Object, Function, Array, Promise, Error, String].flatMap((o) => [o, o.prototype])]
  .map((o) => Reflect.ownKeys(o).map(String)))`

const edgeOf = (file: string): string | undefined => {
  const [folder = '', room = ''] = file.split('/')
  return [`${folder}/${room}`, folder].find((edge) => edge in edges)
}
const stageOf = (file: string): string | undefined => Object.keys(stages).find((stage) => stages[stage]?.includes(file))
const serviceSource = `${root}service/src`
const serviceFiles = sourceFiles(serviceSource)
const parsedService = new Map(serviceFiles.map((file) => [file, parse(`${serviceSource}/${file}`)]))
const serviceImports = [...parsedService].flatMap(([file, text]) => importsOf(file, text))
const allParsed = [...parsed.values(), ...parsedService.values()]
const roomOf = (file: string): string => {
  const [room = '', inside] = file.replace(/\.tsx?$/, '').split('/')
  return inside !== undefined || rooms.flat().includes(room) ? room : 'ground'
}
const floorOf = (file: string): number => rooms.findIndex((names) => names.includes(roomOf(file)))
const show = (list: readonly { from: string; specifier: string }[]): string[] =>
  list.map(({ from, specifier }) => `${from} imports ${specifier}`)

/** Made once, because the entries share most of their files. */
let bundles: Promise<Map<string, string>> | undefined

/** Returns the text of each entry as one file. */
async function bundleEntries(): Promise<Map<string, string>> {
  const { outputFiles } = await build({
    entryPoints: Object.fromEntries(Object.entries(entries).map(([name, entry]) => [name, root + entry])),
    outdir: '/',
    bundle: true,
    write: false,
    format: 'iife',
    platform: 'neutral',
    target: 'es2022',
    external: ['node:*', 'react', '@hono/node-server', '@opentelemetry/api'],
    // A bundler would drop a statement that reads a global in vain; importing the file runs it.
    treeShaking: false,
    logLevel: 'silent',
  })
  return new Map(outputFiles.map(({ path, text }) => [path.slice(1, -3), text]))
}

describe('architecture', () => {
  it('gives every source file an owner, and every owner its files', () => {
    expect(files.filter((file) => !order.includes(file) && !edgeOf(file))).toEqual([])
    expect(order.filter((file) => !files.includes(file))).toEqual([])
  })

  it('lets the core import only what comes before', () => {
    const core = imports.filter(({ from, to }) => !edgeOf(from) && to !== undefined)
    const position = (file: string | undefined): number => order.indexOf(file ?? '')
    expect(show(core.filter(({ from, to }) => position(to) === -1 || position(to) >= position(from)))).toEqual([])
  })

  it('lets the files of the backend import only what comes before', () => {
    const own = files.filter((file) => edgeOf(file) === 'backend')
    expect([...own].sort()).toEqual([...backendOrder].sort())
    const inside = imports.filter(({ from, to }) => own.includes(from) && to !== undefined && own.includes(to))
    const isUpwards = ({ from, to = '' }: { from: string; to?: string | undefined }): boolean =>
      backendOrder.indexOf(to) >= backendOrder.indexOf(from)
    expect(show(inside.filter(isUpwards))).toEqual([])
  })

  it('keeps neighbouring stages apart', () => {
    const pairs = apart.flatMap(([a, b]) => [`${a} ${b}`, `${b} ${a}`])
    expect(show(imports.filter(({ from, to }) => pairs.includes(`${stageOf(from)} ${stageOf(to ?? '')}`)))).toEqual([])
  })

  it('lets edges import the core, and no other edge but the one they are built on', () => {
    const wrong = imports.filter(({ from, to }) => {
      const [edge, target] = [edgeOf(from), edgeOf(to ?? '')]
      return target !== undefined && target !== edge && !edges[edge ?? '']?.includes(target)
    })
    expect(show(wrong)).toEqual([])
  })

  it('gives the client of a backend nothing of the core but errors, limits and one header', () => {
    const outside = [...reachable(valueImports, 'backend/client/index.ts')].filter(
      (file) => edgeOf(file) !== 'backend/client',
    )
    expect(outside.sort()).toEqual([
      'backend/csrf.ts',
      'config/invalid.ts',
      'errors.ts',
      'internal/attempt.ts',
      'internal/limits.ts',
      'internal/present.ts',
    ])
  })

  it('imports files of the package by relative path, so that no way round these rules exists', () => {
    expect(
      show(imports.filter(({ to, specifier }) => (to ? !files.includes(to) : /^agent-auth/.test(specifier)))),
    ).toEqual([])
  })

  it('has no cycle of values', () => {
    expect(cycles(valueImports)).toEqual([])
  })

  it('has no cycle of types', () => {
    expect(cycles(imports)).toEqual([])
  })

  it('has no cycle in the service either', () => {
    expect(cycles(serviceImports)).toEqual([])
  })

  it('gives every file of the service a room, and every room its files', () => {
    expect(serviceFiles.filter((file) => floorOf(file) === -1)).toEqual([])
    expect(rooms.flat().filter((room) => !serviceFiles.some((file) => roomOf(file) === room))).toEqual([])
  })

  it('lets a room of the service import only rooms below it', () => {
    const wrong = serviceImports.filter(({ from, to }) => {
      return to !== undefined && roomOf(to) !== roomOf(from) && floorOf(to) <= floorOf(from)
    })
    expect(show(wrong)).toEqual([])
  })

  it('keeps SQL of the service in store/, and names of engines in store/engine/', () => {
    const outside = (folder: string, forbidden: (used: Import) => boolean): string[] =>
      show(serviceImports.filter((used) => !used.from.startsWith(folder) && forbidden(used)))
    expect(outside('store/engine/', ({ specifier }) => ['libsql', 'pg'].includes(specifier))).toEqual([])
    expect(outside('store/', ({ specifier }) => specifier === 'kysely')).toEqual([])
    expect(outside('store/', ({ to }) => to === 'store/database.ts')).toEqual([])
  })

  it.each(Object.entries(entries).filter(([name]) => !nodeEdges.includes(name)))(
    'reaches nothing of Node from %s',
    (_, entry) => {
      const seen = reachable(valueImports, entry.replace('src/', ''))
      expect(
        show(valueImports.filter(({ from, specifier }) => seen.has(from) && specifier.startsWith('node:'))),
      ).toEqual([])
    },
  )

  it('builds exactly the entries that package.json exports', () => {
    const { exports } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { exports: Record<string, unknown> }
    const built = Object.keys(entries).map((name) => [
      name === 'index' ? '.' : `./${name}`,
      { types: `./dist/${name}.d.ts`, default: `./dist/${name}.js` },
    ])
    expect(exports).toEqual({ ...Object.fromEntries(built), './package.json': './package.json' })
  })

  it('checks each entry for pages without the types of Node.js, so that a Buffer in it fails npm run check', () => {
    const { scripts } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))
    const { compilerOptions, files } = JSON.parse(readFileSync(`${root}src/tsconfig.browser.json`, 'utf8'))
    const inPages = Object.entries(entries).filter(([name]) => !nodeEdges.includes(name))
    expect({ types: compilerOptions.types, files: new Set(files) }).toEqual({
      types: [],
      files: new Set(inPages.map(([, entry]) => entry.replace(/^src\//, ''))),
    })
    expect(scripts.check).toContain('tsc -p src/tsconfig.browser.json')
  })

  // While they load, oauth4webapi and jose construct text coders and oauth4webapi looks for URL.parse; constructing a URL throws.
  it.each(Object.entries(entries))('loads %s with nothing but the language, and leaves no trace', async (name) => {
    bundles ??= bundleEntries()
    const text = (await bundles).get(name) ?? ''
    expect(text).not.toBe('')
    const required = ['react', 'opentelemetry', ...nodeEdges].includes(name)
      ? { require: createRequire(import.meta.url) }
      : {}
    const context = createContext({ TextEncoder, TextDecoder, URL: () => {}, ...required })
    const before: unknown = runInContext(allNames, context)
    runInContext(text, context)
    expect(runInContext(allNames, context)).toBe(before)
  })

  it('tags every test file that launches Chromium, so that it is skipped where there is none: // @module-tag chromium', () => {
    const tests = ['test', 'service/test'].flatMap((folder) =>
      sourceFiles(`${root}${folder}`)
        .filter((file) => /\.test\.ts$/.test(file))
        .map((file) => `${folder}/${file}`),
    )
    const untagged = tests.filter((file) => {
      const text = readFileSync(root + file, 'utf8')
      return /\b(launchChromium|browserRig)\(/.test(text) && !text.startsWith('// @module-tag chromium\n')
    })
    expect(untagged).toEqual([])
  })

  it('documents every error code, and no other', () => {
    const documented = readFileSync(`${root}docs/errors.md`, 'utf8').matchAll(/^#{2,4} `?([a-z_]+)`?\s*$/gm)
    const codes = unionMembers(`${source}/errors.ts`, 'AgentAuthErrorCode')
    expect(codes).not.toEqual([])
    expect([...documented].map(([, code]) => code).sort()).toEqual(codes.sort())
  })

  it(`keeps each source file within ${maxFileLines} lines`, () => {
    expect(allParsed.filter(({ text }) => lineCount(text) > maxFileLines).map(({ fileName }) => fileName)).toEqual([])
  })

  it(`keeps each function within ${maxFunctionLines} lines`, () => {
    const functions = allParsed.flatMap((file) => functionsOf(file).map((found) => ({ file: file.fileName, ...found })))
    expect(functions.length).toBeGreaterThan(allParsed.length)
    expect(functions.filter(({ lines }) => lines > maxFunctionLines)).toEqual([])
  })
})
