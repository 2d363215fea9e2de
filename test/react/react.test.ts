import type { Tokens } from 'agent-auth'
import type { BrowserAuth } from 'agent-auth/browser'
import { createBrowserAuth } from 'agent-auth/browser'
import { describe, expect, test } from 'vitest'
import { loadRendering, reactMajors } from '../support/react-versions.ts'
import { plainOptions } from '../support/token-flow.ts'

const testTokens = (person: string): Tokens => ({
  accessToken: `access-of-${person}`,
  refreshToken: `refresh-of-${person}`,
  expiresAtMs: Date.now() + 3_600_000,
  obtainedAtMs: Date.now(),
})

const authFor = (key: string): BrowserAuth => createBrowserAuth({ ...plainOptions, key })

describe.each(reactMajors)('React %i, rendering on a server', async (major) => {
  const { reactVersion, render, renderWithoutProvider } = await loadRendering(major)

  test('runs this major version of React', () => {
    expect(reactVersion).toMatch(new RegExp(`^${major}\\.`))
  })

  test('says loading for any user and needs no browser', async () => {
    const auth = authFor('ada')
    expect(render(auth)).toBe('<p>loading</p>')
    const accessToken = ['{"alg":"none"}', '{"sub":"ada"}', ''].map((part) => btoa(part).replaceAll('=', '')).join('.')
    await auth.session.signIn({ ...testTokens('ada'), accessToken })
    expect({ status: auth.session.state.status, subject: auth.session.claims?.subject }).toEqual({
      status: 'signed-in',
      subject: 'ada',
    })
    expect(render(auth)).toBe('<p>loading</p>')
  })

  test('two people at once: neither sees the other’s session', async () => {
    const [ada, ben] = [authFor('ada'), authFor('ben')]
    await Promise.all([ada.session.signIn(testTokens('ada')), ben.session.signIn(testTokens('ben'))])
    for (let round = 0; round < 1_000; round++) {
      const tokens = await Promise.all([ada.session.getAccessToken(), ben.session.getAccessToken()])
      expect({ ada: render(ada), ben: render(ben) }).toEqual({ ada: '<p>loading</p>', ben: '<p>loading</p>' })
      expect(tokens).toEqual(['access-of-ada', 'access-of-ben'])
    }
  })

  test('useAuth outside of an AuthProvider says so', () => {
    let code: unknown
    try {
      renderWithoutProvider()
    } catch (error) {
      code = (error as { code?: unknown }).code
    }
    expect(code).toBe('config_invalid')
  })
})
