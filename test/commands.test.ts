import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../', import.meta.url))
const { scripts } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { scripts: Record<string, string> }

/** Those of our own: `tsx file.ts`. The others hand their arguments to vitest, the demo or the built service. */
const own = Object.entries(scripts).filter(([, script]) => /^tsx \S+\.ts( \S+)?$/.test(script))

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

function run(script: string, ...more: string[]): Promise<Ended> {
  return runWith({}, script, ...more)
}

function runWith(changes: NodeJS.ProcessEnv, script: string, ...more: string[]): Promise<Ended> {
  const args = ['--import', ...script.split(' '), ...more]
  return new Promise((resolve) => {
    // Whatever stands in the environment of these tests is none of theirs.
    const env = { ...process.env, REDIS_URL: '', DATABASE_URL: '', ...changes }
    execFile(process.execPath, args, { cwd: root, env }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr })
    })
  })
}

test('every command but these is one of ours', () => {
  const others = Object.keys(scripts).filter((name) => !own.some(([ours]) => ours === name))
  expect(others).toEqual(['test', 'demo', 'service', 'prepack'])
})

/** One command of each file: the tasks of one file share what is proved here. */
const oneOfEach = own.filter(
  ([, script], index) => own.findIndex(([, other]) => fileOf(other) === fileOf(script)) === index,
)

function fileOf(script: string): string {
  return script.split(' ')[1] ?? ''
}

test.each(oneOfEach)(
  'npm run %s: --help is exit code 0, an unknown argument 2, without a stack',
  async (name, script) => {
    const [help, wrong] = await Promise.all([run(script, '--help'), run(script, '--no-such-argument')])
    expect([help.code, help.stderr]).toEqual([0, ''])
    expect(help.stdout).toContain(`Usage: npm run ${name}`)
    expect(help.stdout).toMatch(/Exit codes?:? 0/)
    expect([wrong.code, wrong.stdout]).toEqual([2, ''])
    expect(wrong.stderr).not.toBe('')
    expect(wrong.stderr).not.toMatch(/\n {4}at /)
  },
  90_000,
)

test.each([
  [['--processes', '4'], 'set REDIS_URL or DATABASE_URL'],
  [['--processes', '0'], '--processes takes a number from 1 to 16'],
  [['--port', '70000'], '--port takes a number from 1 to 65535'],
])('npm run example:backend -- %j is exit code 2 and starts nothing', async (args, reason) => {
  expect(await run(scripts['example:backend'] ?? '', ...args)).toEqual({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining(reason),
  })
})

test('npm run test:engines: an engine that is not on PATH is skipped with the reason, and that is no failure', async () => {
  const { code, stdout } = await runWith({ PATH: '/nowhere' }, scripts['test:engines'] ?? '', '--no-install')
  expect({ code, lines: stdout.trimEnd().split('\n') }).toEqual({
    code: 0,
    lines: [
      'test:engines: skipped firefox: no firefox-esr or firefox on PATH; nothing is to be installed',
      'test:engines: skipped webkit: no WebKitWebDriver, no Xvfb on PATH; nothing is to be installed',
      expect.stringContaining('test:engines: skipped chromium: no chromium or'),
    ],
  })
})
