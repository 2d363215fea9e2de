import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { runInProcess } from './support/in-process.ts'
import sayWhatIsMissing from './support/missing-programs.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
const isRoot = process.getuid?.() === 0

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** A folder that is the whole PATH: Node.js is on it, and what a test adds. */
let path: string
beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), 'agent-auth-path-'))
  // Another user must be able to look into it.
  chmodSync(path, 0o755)
  symlinkSync(process.execPath, join(path, 'node'))
})
afterEach(() => rmSync(path, { recursive: true }))

function run(args: string[], env: NodeJS.ProcessEnv, uid?: number): Promise<Ended> {
  const all = { PATH: path, HOME: path, TMPDIR: '/tmp', NO_COLOR: '1', ...env }
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd: root, env: all, ...(uid && { uid }) }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr })
    })
  })
}

const vitest = (args: string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> =>
  run(['node_modules/vitest/vitest.mjs', 'run', '--project', 'library', '--maxWorkers', '1', ...args], env)

const missingRedis = /^Redis is missing\. Run npm run programs -- --install .* put redis-server on PATH\./gm

describe('a test run without redis-server on PATH', { timeout: 600_000 }, () => {
  test('says so once with the way to get it, and skips the tests that need it', async () => {
    const { code, stdout, stderr } = await vitest(['test/redis/redis-cluster.test.ts'])
    expect(stderr.match(missingRedis)).toHaveLength(1)
    expect(stderr).toContain('Its tests are skipped (tag redis, files: 1).')
    expect(stdout).toMatch(/Tests +\d+ skipped \(\d+\)/)
    expect(code).toBe(0)
  })

  test('fails them instead when CI is set, but not those of the keychain, which not every machine can have', async () => {
    const files = ['test/redis/redis-cluster.test.ts', 'test/node/keychain-storage.test.ts']
    const { code, stdout, stderr } = await vitest([...files, '--tags-filter', 'redis or keychain'], { CI: 'true' })
    expect(stderr).toContain('CI is set: its tests fail')
    expect(stdout + stderr).toContain('Redis did not start')
    expect(stderr).toMatch(/^A keychain is missing\. .* Its tests are skipped \(tag keychain, files: 1\)\.$/m)
    const failed = new Set(Array.from(stderr.matchAll(/FAIL .*?(test\/\S+)/g), ([, file]) => file))
    expect(failed).toEqual(new Set(['test/redis/redis-cluster.test.ts']))
    expect(stdout).toMatch(/Tests +\d+ skipped \(\d+\)/)
    expect(code).toBe(1)
  })

  test('says nothing when no file of the run needs it', async () => {
    const said = async (...files: string[]) => {
      const getPaths = () => files.map((file) => root + file)
      const { err } = await runInProcess(
        async () => {
          sayWhatIsMissing({ vitest: { state: { getPaths } } })
          return 0
        },
        [],
        { PATH: path },
      )
      return err
    }
    expect(await said('test/lock-file.test.ts', 'test/backend/redis.test.ts')).toMatch(missingRedis)
    expect(await said('test/lock-file.test.ts')).toBe('')
  })
})

describe('npm run programs -- --install, which npm test runs first', () => {
  /** The script as one file, because it starts in a quarter of the time that tsx takes. */
  let folder: string
  let install: string[]
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'agent-auth-programs-'))
    chmodSync(folder, 0o755)
    const outfile = join(folder, 'programs.mjs')
    const entryPoints = [`${root}scripts/programs.ts`]
    await build({ entryPoints, outfile, bundle: true, format: 'esm', platform: 'node', external: ['playwright-core'] })
    install = [outfile, '--install']
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  /** An apt-get that writes down how it was called, and can make a program appear. */
  function fakeAptGet(script = ''): () => Promise<string[]> {
    const log = join(path, 'calls')
    writeFileSync(join(path, 'apt-get'), `#!/bin/sh\necho "$@" >>${log}\n${script}\n`, { mode: 0o755 })
    return async () => (await readFile(log, 'utf8').catch(() => '')).trimEnd().split('\n').filter(Boolean)
  }

  test.skipIf(!isRoot)('installs as root with apt-get what is missing, and nothing the second time', async () => {
    const program = `printf '#!/bin/sh\\n' | /usr/bin/tee`
    const names = ['chromium', 'chromium-headless-shell', 'redis-server', 'gnome-keyring-daemon']
      .map((name) => join(path, name))
      .join(' ')
    const calls = fakeAptGet(`${program} ${names} >/dev/null; /bin/chmod +x ${names}`)
    expect(await run(install, { CI: 'true' })).toMatchObject({ code: 0, stdout: '' })
    const asked = [
      'update',
      'install --yes --no-install-recommends chromium chromium-headless-shell redis-server gnome-keyring',
    ]
    expect(await calls()).toEqual(asked)
    expect(await run(install, { CI: 'true' })).toEqual({ code: 0, stdout: '', stderr: '' })
    expect(await calls()).toEqual(asked)
  })

  test.skipIf(!isRoot)('installs the others when a release lacks one of them', async () => {
    const calls = fakeAptGet('case "$*" in *shell*) exit 100 ;; esac')
    await run(install, {})
    expect(
      (await calls()).filter((call) => call.startsWith('install')).map((call) => call.split(' ').slice(3)),
    ).toEqual([
      ['chromium', 'chromium-headless-shell', 'redis-server', 'gnome-keyring'],
      ['chromium'],
      ['chromium-headless-shell'],
      ['redis-server'],
      ['gnome-keyring'],
    ])
  })

  test('installs nothing for another user, and leaves it to the test run to say what is missing', async () => {
    const calls = fakeAptGet()
    expect(await run(install, {}, isRoot ? 65_534 : undefined)).toEqual({ code: 0, stdout: '', stderr: '' })
    expect(await calls()).toEqual([])
  })

  test('without apt-get it is a failure only when CI is set, and says what is missing', async () => {
    expect(await run(install, {})).toEqual({ code: 0, stdout: '', stderr: '' })
    const { code, stderr } = await run(install, { CI: 'true' })
    expect(code).toBe(1)
    expect(stderr.trimEnd().split('\n')).toEqual([
      expect.stringMatching(/^programs: Chromium is missing\. .* \(apt-get install chromium\)/),
      expect.stringMatching(/^programs: Redis is missing\. .* \(apt-get install redis-server\)/),
    ])
  })
})
