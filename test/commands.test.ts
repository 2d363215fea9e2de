import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { readSettings } from '../examples/node-backend/src/settings.ts'
import { freePort } from './support/free-port.ts'
import { listen } from './support/listen.ts'
import { type Ended, run, runWith, scripts, spawned } from './support/run-script.ts'

/** Those of our own: `tsx file.ts`. The others hand their arguments to vitest, the demo or the built service. */
const own = Object.entries(scripts).filter(([, script]) => /^tsx \S+\.ts( \S+)?$/.test(script))

test('every command but these is one of ours', () => {
  const others = Object.keys(scripts).filter((name) => !own.some(([ours]) => ours === name))
  expect(others).toEqual([
    'build',
    'build:js',
    'check',
    'check:packages',
    'pretest',
    'test',
    'test:unit',
    'pretest:e2e',
    'test:e2e',
    'demo',
    'command',
    'service',
    'coverage',
    'prepack',
  ])
})

test.each(own)('npm run %s: --help is exit code 0, an unknown argument 2, without a stack', async (name, script) => {
  const help = await run(script, '--help')
  const wrong = await run(script, '--no-such-argument')
  expect({ code: help.code, stderr: help.stderr }).toEqual({ code: 0, stderr: '' })
  expect(help.stdout).toMatch(new RegExp(`^Usage: .*(?:\n .*)*npm run ${name}\\b`))
  expect(help.stdout).toMatch(/Exit codes?:? 0/)
  expect({ code: wrong.code, stdout: wrong.stdout }).toEqual({ code: 2, stdout: '' })
  expect(wrong.stderr).not.toBe('')
  expect(wrong.stderr).not.toMatch(/\n {4}at /)
})

test.each([
  ['example:backend', ['--prot', '3000'], 'there is no option --prot; did you mean --port?'],
  ['example:spa', ['--Port', '3000'], 'there is no option --Port; did you mean --port?'],
  ['programs', ['--instal'], 'there is no option --instal; did you mean --install?'],
])('npm run %s -- %j names the option that was probably meant', async (name, args, problem) => {
  const { code, stderr } = await run(scripts[name] ?? '', ...args)
  expect({ code, firstLine: stderr.split('\n')[0] }).toEqual({
    code: 2,
    firstLine: expect.stringContaining(`${name}: ${problem}`),
  })
})

test.each([
  { args: ['--help'], ended: { code: 0, stdout: expect.stringContaining('Usage: npm run trace'), stderr: '' } },
  {
    args: ['--no-such'],
    ended: { code: 2, stdout: '', stderr: expect.stringContaining('trace: there is no option --no-such') },
  },
])('npm run trace -- $args ends as a process as it does here', async ({ args, ended }) => {
  expect(await spawned(scripts.trace ?? '', ...args)).toEqual(ended)
})

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

test.each(['example:spa', 'example:react', 'example:backend'])('npm run %s names a port in use', async (name) => {
  const server = createServer()
  const port = await listen(server)
  const stderr = `${name}: port ${port} is in use: stop what listens there, or choose another with -- --port N\n`
  const start = name === 'example:backend' ? spawned : run
  expect(await start(scripts[name] ?? '', '--port', String(port))).toEqual({ code: 1, stdout: '', stderr })
  server.close()
})

test.each([
  ['REDIS_URL', 'redis'],
  ['DATABASE_URL', 'postgres'],
])(
  'npm run example:backend names %s when it is no such URL or nothing answers, without its password',
  async (variable, scheme) => {
    const [port, nobody] = [await freePort(), await freePort()]
    const ended = (url: string): Promise<Ended> =>
      runWith({ [variable]: url }, scripts['example:backend'] ?? '', '--port', String(port))
    const silent = `example:backend: ${variable}: nothing answers at 127.0.0.1:${nobody}\n`
    const unfit = `example:backend: ${variable} must be a ${scheme}:// URL\n`
    expect(await ended(`${scheme}://me:hush@127.0.0.1:${nobody}/x`)).toEqual({ code: 1, stdout: '', stderr: silent })
    expect(await ended('foo')).toEqual({ code: 1, stdout: '', stderr: unfit })
  },
)

test('an option whose -- was forgotten is shown with it', async () => {
  const { code, stderr } = await runWith({ npm_config_processes: 'true' }, scripts['example:backend'] ?? '', '4')
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringContaining('(options go after --: npm run example:backend -- --processes 4)'),
  })
})

test.each([
  [['--seed', '1', '--room', 'none'], '--seed has no effect without --random or --at'],
  [['--silence-limit', '9', '--room', 'none'], '--silence-limit has no effect without --random or --at'],
  [['--random', '1', '--incremental', '--room', 'none'], '--incremental has no effect with --random'],
  [['--at', 'src/none.ts:1', '--incremental'], '--incremental has no effect with --at'],
  [['--at', 'src/none.ts:1', '--seed', '1'], '--seed has no effect with --at'],
  [['--at', 'src/none.ts:1', '--room', 'none'], '--room has no effect with --at'],
  [['--at', 'src/none.ts:1', '--random', '1'], '--random has no effect with --at'],
])('npm run mutate -- %j names the option that has no effect', async (args, fault) => {
  expect(await run(scripts.mutate ?? '', ...args)).toEqual({ code: 2, stdout: '', stderr: `mutate: ${fault}\n` })
})

test('COOKIE_SECRET of the backend example may be several, the newest first', () => {
  const names = ['AGENT_AUTH_URL', 'AGENT_BASE_URL', 'AGENT_CLIENT_ID', 'AGENT_CLIENT_SECRET']
  const env = Object.fromEntries(names.map((name) => [name, 'x']))
  expect(readSettings({ ...env, COOKIE_SECRET: 'new,old' }).cookieSecrets).toEqual(['new', 'old'])
  const missing = 'Set COOKIE_SECRET: agent-service --env node prints it, and node --env-file=.env reads it.'
  expect(() => readSettings(env)).toThrow(missing)
  for (const PORT of ['x', '0', '70000'])
    expect(() => readSettings({ ...env, PORT })).toThrow('Set PORT to a number from 1 to 65535.')
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
