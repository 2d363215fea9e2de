import { expect, test } from 'vitest'
import { readCommandLine, UsageError } from '../../src/command/command-line.ts'
import { inTerminal } from '../../src/command/in-terminal.ts'

function refusal(args: readonly string[]): string {
  try {
    readCommandLine(args)
  } catch (error) {
    if (error instanceof UsageError) return error.message
    throw error
  }
  return 'no refusal'
}

test.each([
  [['status', '--profile'], "Option '--profile <value>' argument missing"],
  [['status', '--json=yes'], "Option '--json' does not take an argument"],
  [['login', '--timeout', '-1'], "Option '--timeout' argument is ambiguous"],
  [['login', '--authURL', 'x'], "Unknown option '--authURL'"],
])('%j is refused with what to write', (args, message) => {
  expect(refusal(args)).toContain(message)
})

test.each([[['--json']], [['constructor']], [['a-secret']]])(
  '%j names no command, and is not quoted, because it may be a secret',
  (args) => {
    expect(refusal(args)).toBe('the commands are login, logout, status, whoami, token, fetch, doctor')
  },
)

test.each([
  [['fetch', 'GET'], 'fetch takes METHOD PATH [BODY]'],
  [['fetch', 'GET', '/a', '{}', 'more'], 'fetch takes METHOD PATH [BODY]'],
  [['logout', 'all'], 'logout takes no arguments'],
  [['status', '--ports', '1'], 'status does not take --ports'],
  [['login', '--origin', 'x'], 'login does not take --origin'],
  [['status', '--profile', ''], '--profile takes letters, digits, dots and dashes'],
  [['status', '--profile', 'a/b'], '--profile takes letters, digits, dots and dashes'],
  [['status', '--profile', 'a'.repeat(65)], '--profile takes letters, digits, dots and dashes'],
])('%j is refused', (args, message) => {
  expect(refusal(args)).toBe(message)
})

test('the name of a command and its options are read in any order, and --help wins', () => {
  expect(readCommandLine(['--json', 'login', '--ports', '1,2', '--profile', 'a.b-c'])).toEqual({
    name: 'login',
    profile: 'a.b-c',
    output: 'json',
    flags: { ports: '1,2' },
    rest: [],
  })
  expect(readCommandLine(['login', '--help', '--version'])).toBe('help')
  for (const flag of ['--version', '-v']) expect(readCommandLine(['login', flag])).toBe('version')
})

const ofService = ['auth-url', 'base-url', 'client-id', 'client-secret-file', 'redirect-uri', 'scope', 'ports']

test.each([
  ['login', [...ofService, 'timeout']],
  ['doctor', [...ofService, 'origin']],
])('%s takes the options %j', (name, options) => {
  expect(readCommandLine([name, ...options.map((option) => `--${option}=x`)])).toEqual({
    name,
    profile: 'default',
    output: 'text',
    flags: Object.fromEntries(options.map((option) => [option, 'x'])),
    rest: [],
  })
})

test('advice of the library that only code can follow is left out', () => {
  for (const said of ['Choose another path, or set trustGroup if the platform sets owners.', 'Choose another path.'])
    expect(inTerminal(said)).toBe('Choose another path.')
})
