import { randomBytes } from 'node:crypto'
import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { createAuthConfig } from '../src/config.ts'
import { AgentAuthError, isAgentAuthError } from '../src/errors.ts'
import { assertNoLeak, leaks, registerSecret, secret } from './support/canary.ts'
import { takeLeaks } from './support/canary-witness.ts'
import { plainOptions as options } from './support/token-flow.ts'

const { console: printer } = globalThis

/** The error the library throws, made to carry something it must never carry. */
function plant(property: string, value: unknown): void {
  try {
    createAuthConfig({ ...options, authUrl: 'ftp://example.com' })
  } catch (error) {
    Object.defineProperty(error as Error, property, { value, enumerable: false, configurable: true })
  }
}

describe('the search', () => {
  const token = secret('token')

  it.each([
    ['raw', token],
    ['an 8-character window', `Unexpected token, "${token.slice(9, 17)}" is not valid JSON`],
    ['base64 inside a longer text, first alignment', Buffer.from(`${token}:x`).toString('base64')],
    ['second alignment', Buffer.from(`a${token}:x`).toString('base64')],
    ['third alignment', Buffer.from(`ab${token}:x`).toString('base64url')],
  ])('finds a secret: %s', (_, text) => {
    expect(leaks(text)).toMatchObject([{ label: 'token' }])
    expect(() => assertNoLeak(text)).toThrow('secret "token"')
  })

  it('finds each window of a secret at each place of a text, also beside characters of 16 bits', () => {
    for (let from = 0; from + 8 <= token.length; from++)
      for (const before of ['', 'Z', '\u{ff}\u{ffff}', token.slice(0, 7)])
        expect(leaks(`${before}${token.slice(from, from + 8)}é`)).toMatchObject([{ label: 'token' }])
  })

  it('finds URL-encoded, form-encoded and JSON-escaped secrets', () => {
    const awkward = 'é☃"\\ \n+/=%:é☃"\\'
    registerSecret('awkward', awkward)
    expect(leaks(encodeURIComponent(awkward))).toMatchObject([{ encoding: 'URL-encoded' }])
    expect(leaks(new URLSearchParams({ a: awkward.slice(3) }).toString())).not.toEqual([])
    expect(leaks(JSON.stringify(awkward))).not.toEqual([])
  })

  it('does not cry over seven characters, a run of one character, or ordinary text', () => {
    registerSecret('run', 'a'.repeat(40))
    expect(leaks(token.slice(0, 7))).toEqual([])
    expect(leaks('a'.repeat(100))).toEqual([])
    expect(leaks('The token endpoint answered 400 invalid_grant: log in again.')).toEqual([])
  })

  it('its own report does not quote the secret', () => {
    expect(() => assertNoLeak(token)).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining(token.slice(0, 8)) }),
    )
  })
})

describe('what is inspected of a value', () => {
  const token = secret('token')
  const hidden = Object.defineProperty({}, 'token', { value: token, enumerable: false })

  it.each<[string, unknown, string]>([
    ['toString', { toString: () => token, toJSON: () => '' }, 'String()'],
    ['toJSON', Object.assign(() => '', { toJSON: () => token }), 'JSON.stringify'],
    ['a hidden property', hidden, 'util.inspect'],
    [
      'a getter',
      {
        get token() {
          return token
        },
      },
      'util.inspect',
    ],
    ['something deep', { a: { b: { c: { d: { e: new Map([['k', [token]]]) } } } } }, 'util.inspect'],
    ['a clone', { token }, 'structuredClone'],
    ['the message', new Error(`bad ${token}`), 'message'],
    ['the stack', Object.assign(new Error('bad'), { stack: `Error: ${token}` }), 'stack'],
    [
      'the cause of a cause',
      new Error('a', { cause: new Error('b', { cause: new Error(token) }) }),
      'cause cause message',
    ],
    [
      'the input of an invalid-URL error',
      new Error('a', { cause: invalidUrl(`http://${token}@ :`) }),
      'cause util.inspect',
    ],
  ])('%s', (_, value, form) => {
    expect(leaks(value).map(({ where }) => where)).toContain(`text, ${form}`)
  })

  function invalidUrl(text: string): unknown {
    try {
      return new URL(text)
    } catch (error) {
      return error
    }
  }
})

describe('the sweep over the whole suite', () => {
  it('witnesses an error that a module of the library created', () => {
    plant('response', { body: secret('refresh token') })
    expect(takeLeaks()).toContainEqual({
      label: 'refresh token',
      encoding: 'raw',
      where: expect.stringContaining('util.inspect'),
    })
  })

  it('leaves the class what it is', () => {
    const error = new AgentAuthError('timeout', 'The service did not answer.', { retryable: true })
    expect(isAgentAuthError(error)).toBe(true)
    expect(error).toBeInstanceOf(AgentAuthError)
    expect(inspect(error)).toMatch(/^AgentAuthError: The service did not answer\./)
    expect(() => createAuthConfig({ ...options, authUrl: '' })).toThrow(AgentAuthError)
  })

  it('witnesses every event, with and without a listener', () => {
    const heard: unknown[] = []
    const event = { type: 'session_ended', reason: secret('code') } as const
    createAuthConfig({ ...options, onEvent: (e) => heard.push(e) }).emit(event)
    expect(takeLeaks()).toMatchObject([{ label: 'code', where: 'onEvent' }])
    createAuthConfig(options).emit(event)
    expect(takeLeaks()).toMatchObject([{ label: 'code', where: 'onEvent' }])
    expect(heard).toEqual([event])
  })

  it('witnesses the console and both streams', () => {
    const { invisible, token } = unprinted('printed')
    process.stdout.write(invisible)
    expect(takeLeaks()).toMatchObject([{ where: 'process.stdout' }])
    process.stderr.write(invisible)
    expect(takeLeaks()).toMatchObject([{ where: 'process.stderr' }])
    printer.debug('%c', token)
    expect(takeLeaks()).toMatchObject([{ where: 'console.debug' }])
  })

  it('registers what a token request carries', async () => {
    const [code, basic, verifier] = [random(), random(), random()]
    const config = createAuthConfig({ ...options, fetch: async () => new Response() })
    const headers = { authorization: `Basic ${basic}` }
    await config.fetch('https://auth.example.com', {
      method: 'POST',
      body: JSON.stringify({ refresh_token: code }),
      headers,
    })
    await config.fetch('https://auth.example.com', {
      method: 'POST',
      body: new URLSearchParams({ code_verifier: verifier }),
    })
    expect(leaks(code)).toMatchObject([{ label: 'refresh_token' }])
    expect(leaks(basic)).toMatchObject([{ label: 'authorization header' }])
    expect(leaks(verifier)).toMatchObject([{ label: 'code_verifier' }])
  })
})

describe('after each test the sweep finds', () => {
  it('an error with a secret in its message', () => {
    new AgentAuthError('request_failed', `The service refused ${secret('token')}.`)
    expect(found()).toMatch(/^token in The service refused .*, message$/m)
  })

  it('an error of a module of the library with a platform error as its cause', () => {
    plant('cause', new SyntaxError(`Unexpected token, "${secret('body').slice(3, 12)}" is not valid JSON`))
    expect(found()).toMatch(/^body in Configuration: authUrl .*, cause message$/m)
  })

  it('an event', () => {
    createAuthConfig(options).emit({ type: 'session_ended', reason: secret('code') })
    expect(found()).toContain('code in onEvent')
  })

  it('a line on the console', () => {
    printer.warn('%c', secret('token'))
    expect(found()).toContain('token in console.warn')
  })

  it('a write to a stream', () => {
    process.stderr.write(unprinted('token').invisible)
    expect(found()).toContain('token in process.stderr')
  })

  // `fails` passes only if a hook fails it, because it asserts nothing and does nothing that could throw.
  it.fails('a leak of a test that asserts nothing, which then fails', () => {
    new AgentAuthError('request_failed', `The service refused ${secret('token')}.`)
  })
})

/** What the sweep has found so far, by its label and the beginning of its place. */
function found(): string {
  return takeLeaks()
    .map(({ label, where }) => `${label} in ${where}`)
    .join('\n')
}

/** A terminal ignores an application command, so that the planted leak stays out of sight. */
function unprinted(label: string): { token: string; invisible: string } {
  const token = secret(label)
  return { token, invisible: `\u001b_${token}\u001b\\` }
}

function random(): string {
  return `Aa0${randomBytes(24).toString('hex')}`
}
