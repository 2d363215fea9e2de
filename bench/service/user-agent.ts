import { createHash, randomBytes } from 'node:crypto'
import type { Peer } from './peers.ts'
import type { Answer, Send } from './send.ts'

/** A browser and the app it signs in to: the same steps at every server, by the pages that it shows. */
export interface UserAgent {
  /** Authorize, whatever pages come, exchange; resolves to a refresh token. */
  login(): Promise<string>
  /** Resolves to the next refresh token. */
  refresh(refreshToken: string): Promise<string>
  /** Leaves as a new browser: nobody is signed in. */
  forget(): void
}

const mostHops = 12
const formType = { 'content-type': 'application/x-www-form-urlencoded' }

export function createUserAgent(send: Send, peer: Peer): UserAgent {
  const cookies = new Map<string, string>()

  async function load(url: string, form?: URLSearchParams): Promise<Answer> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = cookie === '' ? {} : { cookie }
    const answer = await (form === undefined
      ? send(url, { method: 'GET', headers })
      : send(url, { method: 'POST', headers: { ...headers, ...formType }, body: form.toString() }))
    for (const line of answer.cookies) keep(cookies, line)
    return answer
  }

  /** Follows redirects and fills in forms until a page leads back to the app. */
  async function authorize(url: string): Promise<URL> {
    let at = url
    let answer = await load(at)
    for (let hops = 0; hops < mostHops; hops++) {
      const next = nextOf(answer)
      if (next?.startsWith(peer.redirectUri)) return new URL(next)
      const form = next === undefined ? filledForm(answer, peer) : undefined
      at = new URL(next ?? form?.action ?? '', at).href
      answer = await load(at, form?.fields)
    }
    throw new Error(`the login did not end; at last it was at ${new URL(at).pathname}: ${answer.status}`)
  }

  return {
    async login() {
      const verifier = randomBytes(32).toString('base64url')
      const state = randomBytes(16).toString('base64url')
      const query = new URLSearchParams({
        ...{
          response_type: 'code',
          client_id: peer.clientId,
          redirect_uri: peer.redirectUri,
          scope: 'api.access',
          state,
        },
        ...{ code_challenge: createHash('sha256').update(verifier).digest('base64url'), code_challenge_method: 'S256' },
        ...(cookies.size > 0 ? peer.askAgain : {}),
      })
      const { searchParams } = await authorize(`${peer.authorizeUrl}?${query}`)
      const code = searchParams.get('code')
      if (code === null || searchParams.get('state') !== state) throw new Error('the login came back without its code')
      const fields = { code, redirect_uri: peer.redirectUri, client_id: peer.clientId, code_verifier: verifier }
      return tokenRequest(send, peer, 'authorization_code', fields)
    },
    refresh: (refreshToken) =>
      tokenRequest(send, peer, 'refresh_token', { refresh_token: refreshToken, client_id: peer.clientId }),
    forget: () => cookies.clear(),
  }
}

async function tokenRequest(
  send: Send,
  { dialect, tokenUrl }: Peer,
  grantType: 'authorization_code' | 'refresh_token',
  fields: Record<string, string>,
): Promise<string> {
  const form = (extra: Record<string, string>) => new URLSearchParams({ ...fields, ...extra }).toString()
  const url = dialect === 'service' ? `${tokenUrl}?grant_type=${grantType}` : tokenUrl
  const isJson = dialect === 'service' && grantType === 'refresh_token'
  const answer = await send(url, {
    method: 'POST',
    headers: isJson ? { 'content-type': 'application/json' } : formType,
    body: isJson ? JSON.stringify(fields) : form(dialect === 'service' ? {} : { grant_type: grantType }),
  })
  const tokens = answer.status === 200 ? (JSON.parse(answer.text) as Record<string, unknown>) : {}
  if (typeof tokens.access_token !== 'string' || typeof tokens.refresh_token !== 'string') {
    throw new Error(`the token endpoint answered ${answer.status} without tokens`)
  }
  return tokens.refresh_token
}

function keep(cookies: Map<string, string>, setCookie: string): void {
  const pair = setCookie.split(';', 1)[0] ?? ''
  const equals = pair.indexOf('=')
  const name = pair.slice(0, equals)
  if (/max-age=0|expires=thu, 01 jan 1970/i.test(setCookie)) cookies.delete(name)
  else cookies.set(name, pair.slice(equals + 1))
}

/** Where an answer leads by itself: a redirect, or a page that refreshes at once. */
function nextOf({ status, location, text }: Answer): string | undefined {
  if (status >= 300 && status < 400) return location
  const refresh = /http-equiv="refresh" content="0;url=([^"]+)"/.exec(text)?.[1]
  return refresh?.replaceAll('&amp;', '&')
}

/** The page's form with what a person would type and press: the first form, which asks for sign-in or consent. */
function filledForm({ status, text }: Answer, { email, password }: Peer): { action: string; fields: URLSearchParams } {
  const form = /<form[^>]*\baction="([^"]+)"[^>]*>([\s\S]*?)<\/form>/.exec(text)
  if (status !== 200 || form === null) throw new Error(`the login stopped: a page without a form, status ${status}`)
  const [, action = '', body = ''] = form
  const fields = new URLSearchParams()
  for (const [, name = '', value = ''] of body.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)) {
    fields.set(name, value)
  }
  if (body.includes('type="password"')) {
    fields.set(body.includes('name="login"') ? 'login' : 'email', email)
    fields.set('password', password)
  }
  if (body.includes('name="decision"')) fields.set('decision', 'approve')
  return { action, fields }
}
