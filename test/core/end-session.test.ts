import { describe, expect, it } from 'vitest'
import { endSessionUrl } from '../../src/end-session.ts'
import { authUrl, configWith, failure } from '../support/token-flow.ts'

describe('the URL that ends the sign-in at the service', () => {
  it('names the client', () => {
    expect(endSessionUrl(configWith()).href).toBe(`${authUrl}/auth/v1/logout?client_id=app`)
  })

  it('is the endpoint of the configuration', () => {
    const config = configWith({ endSessionEndpoint: 'https://login.example.com/end' })
    expect(endSessionUrl(config).href).toBe('https://login.example.com/end?client_id=app')
  })

  it.each([
    ['/bye?x=1', 'https://app.example.com/bye?x=1'],
    ['https://app.example.com/bye', 'https://app.example.com/bye'],
    ['https://evil.example/bye', 'https://app.example.com/'],
    ['javascript:alert(1)', 'https://app.example.com/'],
  ])('returns from there to %s at the origin of the redirect URI', (returnTo, expected) => {
    const { searchParams } = endSessionUrl(configWith(), { returnTo })
    expect(searchParams.get('post_logout_redirect_uri')).toBe(expected)
  })

  it('needs a secure endpoint', async () => {
    const config = () => configWith({ endSessionEndpoint: 'http://login.example.com/end' })
    expect((await failure(config)).message).toMatch(/endSessionEndpoint must be an https URL/)
  })
})
