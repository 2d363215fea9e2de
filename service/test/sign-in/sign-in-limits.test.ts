import { beforeEach, expect, onTestFinished, test } from 'vitest'
import type { Person, Service } from '../../src/index.ts'
import { authorizeUrl, Browser, type Page, personOf, signInPath } from '../support/login.ts'
import { oneService } from '../support/one-service.ts'
import { createService } from '../support/start.ts'

let service: Service
let ada: Person
const fresh = oneService(() => createService({ trustedProxies: 1 }))
beforeEach(async () => use(await fresh()))

function use(started: Service): void {
  service = started
  service.dev.freeze()
  ada = personOf(service, 'ada')
}

/** A browser whose requests come through a proxy that names this address. */
function browserAt(address: string): Browser {
  return new Browser((url, init) => {
    const headers = new Headers(init?.headers)
    headers.set('x-forwarded-for', address)
    return service.fetch(url, { ...init, headers })
  })
}

interface Tried {
  status: number
  retryAfterS: number
}

const signInPage = (browser: Browser): Promise<Page> => browser.get(authorizeUrl(service).url)

/** On that page, or on a page of its own. */
async function attempt(browser: Browser, email: string, password = 'wrong-password', page?: Page): Promise<Tried> {
  const form = page ?? (await signInPage(browser))
  const { status, response } = await browser.submit(form, signInPath, { email, password })
  return { status, retryAfterS: Number(response.headers.get('retry-after') ?? 0) }
}

/** Guesses until the service says when to come again. */
async function guessOn(browser: Browser, email = ada.email): Promise<{ compared: number; retryAfterS: number }> {
  const page = await signInPage(browser)
  for (let compared = 0; ; compared += 1) {
    const { status, retryAfterS } = await attempt(browser, email, 'wrong-password', page)
    if (status === 429) return { compared, retryAfterS }
    expect(status).toBe(403)
  }
}

/** A browser that signed in to an account, and signed out again. */
async function knownBrowser(address: string, person = ada): Promise<Browser> {
  const browser = browserAt(address)
  expect((await attempt(browser, person.email, person.password)).status).toBe(200)
  browser.forget('session')
  return browser
}

const rightFrom = async (browser: Browser) => (await attempt(browser, ada.email, ada.password)).status

test('ninety guesses at once, at each end of a delay again, are no more than one after the other', async () => {
  const stranger = browserAt('203.0.113.1')
  const compared: number[] = []
  for (const waitS of [0, 1, 2, 900]) {
    service.dev.advance(waitS * 1_000)
    const page = await stranger.get(authorizeUrl(service).url)
    const guesses = Array.from({ length: 90 }, (_, index) =>
      stranger.submit(page, signInPath, { email: ada.email, password: `guess-${index}` }),
    )
    compared.push((await Promise.all(guesses)).filter(({ status }) => status === 403).length)
  }
  expect(compared).toEqual([5, 1, 1, 1])
})

test('a stranger who guesses at each expiry keeps the owner out neither elsewhere nor in a known browser', async () => {
  const known = await knownBrowser('203.0.113.1')
  const stranger = browserAt('203.0.113.1')
  let guesses = 0
  for (let count = 0; count < 40; count += 1) {
    const { compared, retryAfterS } = await guessOn(stranger)
    guesses += compared
    expect(await rightFrom(known)).toBe(200)
    known.forget('session')
    expect(await rightFrom(browserAt('198.51.100.1'))).toBe(200)
    // The stranger is no nearer: its own address waits on.
    expect(await rightFrom(browserAt('203.0.113.1'))).toBe(429)
    service.dev.advance(retryAfterS * 1_000)
  }
  // As slow as ever: five free of a delay, then one for each delay that grows to a quarter of an hour.
  expect(guesses).toBe(45)
})

test('without a trusted proxy a known browser gets through, and guesses at others keep no user out', async () => {
  use(await createService({ trustedProxies: 0 }))
  onTestFinished(service.close)
  const known = await knownBrowser('203.0.113.1')
  for (let count = 0; count < 120; count += 1) {
    expect((await attempt(browserAt('203.0.113.2'), `unknown-${count}@demo.example`)).status).toBe(403)
  }
  expect(await rightFrom(browserAt('203.0.113.3'))).toBe(200)
  await guessOn(browserAt('203.0.113.2'))
  expect(await rightFrom(browserAt('203.0.113.3'))).toBe(429)
  expect(await rightFrom(known)).toBe(200)
})

test('a hundred failures slow one address down for every account, but for browsers that are known', async () => {
  const known = await knownBrowser('203.0.113.1')
  const stranger = browserAt('203.0.113.1')
  const page = await signInPage(stranger)
  for (let count = 0; count < 101; count += 1) {
    const { status } = await attempt(stranger, `unknown-${count}@demo.example`, 'wrong-password', page)
    expect(status).toBe(403)
  }
  expect(await attempt(stranger, 'nobody@demo.example')).toEqual({ status: 429, retryAfterS: 1 })
  expect(await rightFrom(browserAt('203.0.113.1'))).toBe(429)
  expect(await rightFrom(known)).toBe(200)
  expect(await rightFrom(browserAt('198.51.100.1'))).toBe(200)
})

test('one address has a hundred failures in a row at one account, then one a day, and others do not notice', async () => {
  const stranger = browserAt('203.0.113.1')
  let guesses = 0
  let waitS = 0
  while (waitS < 24 * 3_600) {
    const { compared, retryAfterS } = await guessOn(stranger)
    guesses += compared
    waitS = retryAfterS
    expect(guesses).toBeLessThanOrEqual(100)
    service.dev.advance(retryAfterS < 24 * 3_600 ? retryAfterS * 1_000 : 0)
  }
  expect(guesses).toBe(100)
  expect(await rightFrom(browserAt('198.51.100.1'))).toBe(200)
  service.dev.advance(24 * 3_600_000)
  expect(await guessOn(stranger)).toEqual({ compared: 1, retryAfterS: 24 * 3_600 })
})

test('many addresses together have a hundred failures in a row at one account, then four an hour', async () => {
  const known = await knownBrowser('203.0.113.1')
  let address = 0
  const guess = () => {
    address += 1
    return attempt(browserAt(`10.0.${address >> 8}.${address & 255}`), ada.email)
  }
  let guesses = 0
  while (guesses < 200 && (await guess()).status === 403) guesses += 1
  expect(guesses).toBe(101)
  const delays: number[] = []
  for (let count = 0; count < 8; count += 1) {
    const { retryAfterS } = await guess()
    delays.push(retryAfterS)
    service.dev.advance(retryAfterS * 1_000)
    expect((await guess()).status).toBe(403)
  }
  expect(delays).toEqual([60, 120, 240, 480, 900, 900, 900, 900])
  expect(await rightFrom(known)).toBe(200)
})

test('a known browser may guess no more than a stranger', async () => {
  const known = await knownBrowser('203.0.113.1')
  expect(await guessOn(known)).toEqual({ compared: 6, retryAfterS: 1 })
  service.dev.advance(1_000)
  expect(await guessOn(known)).toEqual({ compared: 1, retryAfterS: 2 })
  // Its failures are its own.
  expect(await rightFrom(browserAt('203.0.113.1'))).toBe(200)
})

test.each<[string, (cookie: string, other: string) => string]>([
  ['of another account', (_, other) => other],
  ['with another id', (cookie) => `${'A'.repeat(43)}${cookie.slice(43)}`],
  ['with a made-up proof', (cookie) => `${cookie.slice(0, 44)}${'A'.repeat(43)}`],
  ['of six proofs', (cookie) => `${cookie}${`.${'A'.repeat(43)}`.repeat(5)}`],
  ['without a proof', (cookie) => cookie.slice(0, 43)],
])('a device cookie %s makes no browser known', async (_, change) => {
  const cookie = (await knownBrowser('203.0.113.1')).cookie('device') ?? ''
  const other = (await knownBrowser('203.0.113.1', personOf(service, 'rui'))).cookie('device') ?? ''
  await guessOn(browserAt('203.0.113.1'))
  const browser = browserAt('203.0.113.1')
  browser.setCookie('agent_service_device_4001', cookie)
  expect(await rightFrom(browser)).toBe(200)
  const forged = browserAt('203.0.113.1')
  forged.setCookie('agent_service_device_4001', change(cookie, other))
  expect(await rightFrom(forged)).toBe(429)
})

test('of two device cookies none counts', async () => {
  const cookie = (await knownBrowser('203.0.113.1')).cookie('device') ?? ''
  await guessOn(browserAt('203.0.113.1'))
  const doubled = browserAt('203.0.113.1')
  doubled.setCookie('agent_service_device_4001', `${cookie}; agent_service_device_4001=${cookie}`)
  expect(await rightFrom(doubled)).toBe(429)
})

test('one browser is known for the last five accounts that it signed in to', async () => {
  const browser = await knownBrowser('203.0.113.1')
  const id = browser.cookie('device')?.slice(0, 43)
  for (const name of ['rui', 'gil', 'ola', 'ada', 'rui']) {
    const person = personOf(service, name)
    expect((await attempt(browser, person.email, person.password)).status).toBe(200)
    browser.forget('session')
  }
  const parts = browser.cookie('device')?.split('.') ?? []
  expect({ id: parts[0], parts: parts.length, different: new Set(parts).size }).toEqual({ id, parts: 5, different: 5 })
  await guessOn(browserAt('203.0.113.1'))
  expect(await rightFrom(browser)).toBe(200)
})

test('the device cookie is HttpOnly, Lax, long-lived and holds no email address', async () => {
  const browser = browserAt('203.0.113.1')
  const page = await browser.get(authorizeUrl(service).url)
  const { response } = await browser.submit(page, signInPath, { email: ada.email, password: ada.password })
  const lines = response.headers.getSetCookie().filter((line) => line.includes('device'))
  expect(lines).toHaveLength(1)
  expect(lines[0]).toMatch(
    /^agent_service_device_4001=[\w-]{43}\.[\w-]{43}; Max-Age=34560000; Path=\/; HttpOnly; SameSite=Lax$/,
  )
})

test('the email address may be written in any case in a known browser', async () => {
  const known = await knownBrowser('203.0.113.1')
  await guessOn(browserAt('203.0.113.1'))
  expect((await attempt(known, ` ${ada.email.toUpperCase()} `, ada.password)).status).toBe(200)
})
