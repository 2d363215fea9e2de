// test/backend/client.test.ts has the state.
import { type BackendClientOptions, createBackendClient } from 'agent-auth/backend/client'
import { describe, expect, it, vi } from 'vitest'
import {
  type BackendClientRig,
  backendClientRig,
  dayMs,
  failing,
  signedIn,
  signedOut,
  startMs,
  until,
} from '../support/backend-client-rig.ts'
import { pageOrigin, stubPage } from '../support/page-stub.ts'
import { codeOf } from '../support/session-rig.ts'
import { flush, virtualTime } from '../support/virtual-time.ts'

/** Makes reads of the session wait. Returns a function that responds to the last one. */
function holdReads(rig: BackendClientRig): (response: Response) => void {
  let respond: ((response: Response) => void) | undefined
  rig.session = () =>
    new Promise<Response>((resolve) => {
      respond = resolve
    })
  return (response) => respond?.(response)
}

describe('a page with <base href>', () => {
  it('asks the backend of its own origin, and goes there to sign in', async () => {
    const { client, page } = backendClientRig()
    page.base = 'https://static.example.com/app/'
    const own = createBackendClient()
    await own.ready()
    await own.signOut()
    await own.signIn({ returnTo: '/agents' })
    own.close()
    expect(page.requests.filter((line) => line.includes('static'))).toEqual([])
    expect(page.requests).toContain('POST /auth/logout?return_to=%2F*')
    expect(page.visited).toEqual([`${pageOrigin}/auth/login?return_to=%2Fagents`])
    client.close()
  })
})

describe('fetch', () => {
  const own = ['/api/agents', 'api/agents', `${pageOrigin}/api/agents`, `${pageOrigin}:443/api/agents`]
  const foreign = [
    '//evil.example/api',
    '\\\\evil.example/api',
    'https://app.example.com.evil.example/',
    'https://app.example.com:8443/api',
    'https://api.app.example.com/',
    'http://app.example.com/api',
    'https://app.example.com@evil.example/'.replace('app.example.com@', ''),
  ]

  it.each(own)('adds the header for this origin: %s', async (url) => {
    const { client, page } = backendClientRig()
    await client.ready()
    for (const input of [url, new URL(url, `${pageOrigin}/agents`), new Request(url, { method: 'PUT' })])
      await client.fetch(input)
    expect(page.requests.slice(1)).toEqual(
      ['GET', 'GET', 'PUT'].map((method) => `${method} ${new URL(url, pageOrigin).pathname}*`),
    )
  })

  it.each(foreign)('adds no header for another origin: %s', async (url) => {
    const { client, page } = backendClientRig()
    await client.ready()
    for (const input of [url, new URL(url, `${pageOrigin}/agents`), new Request(url)]) await client.fetch(input)
    expect(page.requests.slice(1).filter((line) => line.endsWith('*'))).toEqual([])
    expect(page.requests).toHaveLength(4)
  })

  it('keeps method, headers and body', async () => {
    const rig = backendClientRig()
    rig.other = async (_, request) => new Response(`${request.headers.get('x-own')} ${await request.text()}`)
    const response = await rig.client.fetch('/api', { method: 'POST', headers: { 'x-own': 'yes' }, body: 'a body' })
    expect(await response.text()).toBe('yes a body')
  })

  it('returns the 401 of a route of the API, and the user stays signed in', async () => {
    const rig = backendClientRig()
    const before = await rig.client.ready()
    rig.other = () => new Response('no', { status: 401 })
    expect((await rig.client.fetch('/api/agents')).status).toBe(401)
    expect(rig.client.state).toBe(before)
    expect(rig.page.reads()).toBe(2)
  })

  it('is signed out before it returns the 401 of a session that has ended', async () => {
    const rig = backendClientRig()
    await rig.client.ready()
    rig.other = () => new Response('no', { status: 401 })
    rig.session = signedOut
    const statuses = await Promise.all(Array.from({ length: 33 }, () => rig.client.fetch('/api/agents')))
    expect(new Set(statuses.map(({ status }) => status))).toEqual(new Set([401]))
    expect(rig.client.state).toEqual({ status: 'signed-out', reason: 'store_lost' })
    expect(rig.page.reads()).toBeLessThanOrEqual(3)
  })
})

describe('sign-in', () => {
  it('goes to the login of the backend, and back to this page or to returnTo', async () => {
    const { client, page, another } = backendClientRig()
    await client.signIn()
    await client.signIn({ returnTo: '/agents/new?a=1&b=2' })
    await another({ basePath: '/apps/one' }).signIn({ returnTo: undefined })
    const here = encodeURIComponent(`${pageOrigin}/agents?page=2#top`)
    expect(page.visited).toEqual([
      `${pageOrigin}/auth/login?return_to=${here}`,
      `${pageOrigin}/auth/login?return_to=%2Fagents%2Fnew%3Fa%3D1%26b%3D2`,
      `${pageOrigin}/apps/one/login?return_to=${here}`,
    ])
  })

  it('takes the event of a click for no options', async () => {
    const { client, page } = backendClientRig()
    const onClick: (event: object) => Promise<void> = client.signIn
    await onClick({ type: 'click', preventDefault() {} })
    expect(page.visited).toHaveLength(1)
  })
})

describe('options', () => {
  it('names the options if one is unknown', async () => {
    const { client } = backendClientRig()
    const misspelt = { basepath: '/auth' } as BackendClientOptions
    expect(() => createBackendClient(misspelt)).toThrow('the options are basePath')
    expect(await codeOf(client.signIn({ returnUrl: '/' } as object))).toBe('config_invalid')
  })

  it('names the URL and basePath if that is no path', async () => {
    stubPage(() => Promise.reject(new TypeError('no host')))
    const client = createBackendClient({ basePath: 'auth' })
    await expect(client.ready()).rejects.toThrow('https://app.example.comauth/session gave no session. Check basePath.')
    client.close()
  })
})

describe('sign-out', () => {
  it('ends the session here, with the header', async () => {
    const { client, page } = backendClientRig()
    await client.ready()
    await client.signOut()
    expect(client.state).toEqual({ status: 'signed-out', reason: 'signed_out' })
    expect(page.requests.at(-1)).toMatch(/^POST \/auth\/logout\?/)
  })

  it('everywhere asks the backend for that', async () => {
    const { client, page } = backendClientRig()
    await client.ready()
    await client.signOut({ everywhere: true })
    expect(page.requests.at(-1)).toBe('POST /auth/logout?return_to=%2F&everywhere=*')
  })

  it('rejects and stays signed in if the backend is not reached', async () => {
    const rig = backendClientRig()
    const before = await rig.client.ready()
    rig.logout = () => Promise.reject(new TypeError('offline'))
    expect(await codeOf(rig.client.signOut())).toBe('temporarily_unavailable')
    expect(rig.client.state).toBe(before)
  })

  it.each([
    ['with storage_failed if the record may remain', 'storage_failed', failing],
    ['if its response was lost', 'temporarily_unavailable', () => Promise.reject(new TypeError('offline'))],
  ])('rejects %s, and is signed out with the cookie', async (_, code, logout) => {
    const rig = backendClientRig()
    await rig.client.ready()
    rig.logout = logout
    rig.session = signedOut
    expect(await codeOf(rig.client.signOut())).toBe(code)
    expect(rig.client.state).toEqual({ status: 'signed-out', reason: 'signed_out' })
  })

  it('is not undone by a read that began before it', async () => {
    const rig = backendClientRig()
    await rig.client.ready()
    const respond = holdReads(rig)
    rig.page.dispatch('focus')
    await until(rig.page.reads, 2)
    await rig.client.signOut()
    respond(Response.json(signedIn))
    await flush()
    expect(rig.client.state).toEqual({ status: 'signed-out', reason: 'signed_out' })
  })
})

describe('clients of one origin', () => {
  it('follow a sign-in in another tab', async () => {
    const rig = backendClientRig(signedOut)
    await rig.client.ready()
    rig.session = signedIn
    const fresh = rig.another()
    await fresh.ready()
    await until(() => rig.client.state, signedIn)
  })

  it('follow a sign-out that they hear of while they read', async () => {
    const rig = backendClientRig()
    const other = rig.another()
    await Promise.all([rig.client.ready(), other.ready()])
    const respond = holdReads(rig)
    rig.page.dispatch('focus')
    await until(rig.page.reads, 4)
    const witness = new BroadcastChannel(`${pageOrigin}/auth`)
    const heard = new Promise((resolve) => {
      witness.onmessage = resolve
    })
    await rig.client.signOut()
    await heard
    witness.close()
    await flush()
    respond(Response.json(signedIn))
    await until(() => other.state, { status: 'signed-out', reason: 'signed_out' })
  })

  it('read again when a page comes back in which an element has the name hidden', async () => {
    const rig = backendClientRig()
    await rig.client.ready()
    Object.assign(rig.page, { isHidden: { tagName: 'IMG' } })
    rig.page.dispatch('focus')
    await until(rig.page.reads, 2)
  })

  it('are apart if their backends are', async () => {
    const rig = backendClientRig()
    const other = rig.another({ basePath: '/apps/one' })
    await Promise.all([rig.client.ready(), other.ready()])
    await rig.client.signOut()
    await flush()
    expect(other.state).toEqual(signedIn)
  })

  it.each([
    ['has none', undefined],
    [
      'blocks it',
      class {
        constructor() {
          throw new DOMException('blocked', 'SecurityError')
        }
      },
    ],
  ])('work without BroadcastChannel where the browser %s', async (_, channel) => {
    vi.stubGlobal('BroadcastChannel', channel)
    const rig = backendClientRig()
    const other = rig.another()
    await Promise.all([rig.client.ready(), other.ready()])
    await rig.client.signOut()
    rig.page.dispatch('focus')
    await until(() => other.state.status, 'signed-out')
  })

  it('do nothing after close()', async () => {
    const time = virtualTime(startMs)
    const rig = backendClientRig()
    const other = rig.another()
    await Promise.all([rig.client.ready(), other.ready()])
    rig.client.close()
    await other.signOut()
    const before = rig.page.reads()
    rig.page.dispatch('focus')
    await until(rig.page.reads, before + 1)
    expect(rig.client.state).toEqual(signedIn)
    other.close()
    rig.page.dispatch('focus')
    await time.pass(2 * dayMs)
    expect(rig.page.reads()).toBe(before + 1)
  })
})
