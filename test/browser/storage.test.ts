// @module-tag chromium

import type { TokenStorage } from 'agent-auth'
import type { BrowserContext, Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { leaks } from '../support/canary.ts'
import { dumpDatabase } from './database.ts'
import { browserRig, call, signIn, started, statusOf, untilStatus, untilTrue } from './rig.ts'

declare global {
  interface Window {
    /** Lets the database that a test holds back answer. */
    answer?: () => void
    /** Closes the connection that was used last as Safari does: the next transaction throws, and there is no event. */
    closeSilently?: (howLong?: 'for good') => void
    openings?: number
  }
}

const rig = browserRig()

const eventsOf = (page: Page): Promise<string[]> =>
  page.evaluate(() =>
    window.app.events.filter(({ type }) => /storage|session/.test(type)).map(({ type, reason }) => `${type} ${reason}`),
  )

const reload = async (page: Page): Promise<string> => {
  await page.reload()
  return started(page)
}

async function clearSite(page: Page): Promise<void> {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('Storage.clearDataForOrigin', { origin: rig.origin, storageTypes: 'all' })
}

describe('kinds', () => {
  it.each([
    ['memory', 'signed-out', 'signed-out'],
    ['session', 'signed-in', 'signed-out'],
    ['local', 'signed-in', 'signed-in'],
    ['indexed', 'signed-in', 'signed-in'],
  ] as const)('%s: after a reload the user is %s, in a new tab %s', async (kind, reloaded, elsewhere) => {
    const context = await rig.context()
    const page = await rig.signedIn(context, kind)
    expect(await statusOf(await rig.open(context, `/${kind}/home`))).toBe(elsewhere)
    expect(await reload(page)).toBe(reloaded)
    expect(rig.tokenRequests('refresh_token')).toBe(0)
  })

  it('indexed: a record that is not there is null, as in Web Storage', async () => {
    const context = await rig.context()
    await context.addInitScript(() => {
      window.adjust = (options) => {
        Object.assign(window, { storage: options.storage })
        return options
      }
    })
    const page = await rig.open(context, '/indexed/home')
    const read = page.evaluate(() => (window as unknown as { storage: TokenStorage }).storage.getItem('absent'))
    expect(await read).toBeNull()
  })

  it('indexed: the record is sealed by a key that cannot be exported, and written strictly', async () => {
    const context = await rig.context()
    await context.addInitScript(() => {
      const modes: string[] = []
      const { transaction } = IDBDatabase.prototype
      IDBDatabase.prototype.transaction = function (...args: Parameters<typeof transaction>) {
        const made = transaction.apply(this, args)
        modes.push(`${made.mode} ${made.durability}`)
        return made
      }
      Object.assign(window, { modes })
    })
    const page = await rig.signedIn(context, 'indexed')
    await rig.service.dev.expireAccessTokens()
    expect(await call(page)).toBe(200)
    const { text, keys } = await page.evaluate(dumpDatabase)
    expect(keys).toEqual([{ name: 'AES-GCM', extractable: false }])
    expect(text.length).toBeGreaterThan(500)
    expect(leaks(text, 'IndexedDB')).toEqual([])
    const modes = await page.evaluate(() => (window as unknown as { modes: string[] }).modes)
    expect(modes.filter((mode) => mode.startsWith('readwrite')).length).toBeGreaterThan(1)
    expect(modes.filter((mode) => mode === 'readwrite strict')).toEqual(
      modes.filter((mode) => mode.startsWith('readwrite')),
    )
  })
})

describe('bad storage', () => {
  const block = (context: BrowserContext, name: string): Promise<unknown> =>
    context.addInitScript((property) => {
      Object.defineProperty(window, property, {
        get() {
          throw new DOMException('blocked', 'SecurityError')
        },
      })
    }, name)

  it.each([
    ['indexed', 'indexedDB'],
    ['local', 'localStorage'],
  ] as const)('%s: reading %s throws: the login lives in memory, with one event', async (kind, property) => {
    const context = await rig.context()
    await block(context, property)
    // A browser that blocks site data refuses locks as well.
    await context.addInitScript(() => {
      navigator.locks.request = () => Promise.reject(new DOMException('blocked', 'SecurityError'))
    })
    const page = await rig.open(context, `/${kind}/home`)
    expect(await started(page)).toBe('signed-out')
    await signIn(page)
    expect(await call(page)).toBe(200)
    await rig.service.dev.expireAccessTokens()
    expect(await call(page)).toBe(200)
    expect(await eventsOf(page)).toEqual(['storage_degraded read_failed'])
    expect(await reload(page)).toBe('signed-out')
  })

  const loseConnection = (context: BrowserContext, times: number): Promise<unknown> =>
    context.addInitScript((count) => {
      let left = count
      const { open } = IDBFactory.prototype
      IDBFactory.prototype.open = function (...args) {
        if (left-- > 0) throw new DOMException('Connection to Indexed Database server lost', 'UnknownError')
        return open.apply(this, args)
      }
    }, times)

  it('indexed: the database is lost for a moment as the page starts: still signed in', async () => {
    const context = await rig.context()
    await rig.signedIn(context, 'indexed')
    await loseConnection(context, 1)
    const page = await rig.open(context, '/indexed/home')
    expect([await started(page), await call(page), await eventsOf(page)]).toEqual(['signed-in', 200, []])
  })

  it('indexed: the database is lost for longer: the user is signed in again as soon as the page is shown again', async () => {
    const context = await rig.context()
    await rig.signedIn(context, 'indexed')
    await loseConnection(context, 3)
    const page = await rig.open(context, '/indexed/home')
    expect([await started(page), await eventsOf(page)]).toEqual(['signed-out', ['storage_degraded read_failed']])
    await page.evaluate(() => dispatchEvent(new Event('online')))
    await untilStatus(page, 'signed-in')
    expect(await call(page)).toBe(200)
  })

  it('indexed: a database that acknowledges the record and has none: the login lives in memory, with one event', async () => {
    const context = await rig.context()
    await context.addInitScript(() => {
      const { get } = IDBObjectStore.prototype
      IDBObjectStore.prototype.get = function () {
        return get.call(this, 'no such key')
      }
    })
    const page = await rig.signedIn(context, 'indexed')
    await rig.service.dev.expireAccessTokens()
    await page.evaluate(() => {
      window.app.ahead.monotonicMs += 10_000
    })
    expect(await call(page)).toBe(200)
    expect(await eventsOf(page)).toEqual(['storage_degraded write_failed'])
  })

  it('degraded to memory, a sign-out elsewhere is still seen', async () => {
    const context = await rig.context()
    await block(context, 'indexedDB')
    const [here, there] = [await rig.signedIn(context, 'indexed'), await rig.signedIn(context, 'indexed')]
    await here.evaluate(() => window.app.auth.signOut())
    await untilStatus(there, 'signed-out')
  })

  /** Opens a page whose database answers when `window.answer` is called. The test moves its clock. */
  async function openSlow(context: BrowserContext): Promise<Page> {
    await context.addInitScript(() => {
      const { open } = IDBFactory.prototype
      IDBFactory.prototype.open = function (...args) {
        const request = open.apply(this, args)
        if (!sessionStorage.getItem('slow')) return request
        const late = {} as IDBOpenDBRequest
        const answer = (event: Event): void => {
          Object.defineProperty(late, 'result', { value: request.result })
          window.answer = () => late.onsuccess?.(event)
        }
        request.onsuccess = answer
        return late
      }
    })
    const slow = await context.newPage()
    await slow.clock.install()
    await slow.addInitScript(() => sessionStorage.setItem('slow', 'on'))
    await slow.goto(`${rig.origin}/indexed/home`)
    await untilTrue(slow, () => Boolean(window.answer))
    return slow
  }

  it('degraded to memory, a sign-in removes the record that could not be read, so that a reload shows no other user', async () => {
    const context = await rig.context()
    const page = await rig.signedIn(context, 'indexed')
    const slow = await openSlow(context)
    await slow.clock.fastForward(4_001)
    expect(await started(slow)).toBe('signed-out')
    rig.service.dev.autoApprove('rui@demo.example')
    await slow.click('#popup')
    await untilStatus(slow, 'signed-in')
    await slow.evaluate(() => window.answer?.())
    await untilStatus(page, 'signed-out')
    expect(await call(slow)).toBe(200)
    const reloaded = await rig.open(context, '/indexed/home')
    expect(await statusOf(reloaded)).toBe('signed-out')
  })

  it('indexed: the disk is full: the login lives in memory, with one event', async () => {
    const page = await rig.open(await rig.context(), '/indexed/home')
    const devtools = await page.context().newCDPSession(page)
    await devtools.send('Storage.overrideQuotaForOrigin', { origin: rig.origin, quotaSize: 1 })
    await signIn(page)
    expect(await call(page)).toBe(200)
    await rig.service.dev.expireAccessTokens()
    expect(await call(page)).toBe(200)
    expect(await eventsOf(page)).toEqual(['storage_degraded write_failed'])
    await devtools.send('Storage.overrideQuotaForOrigin', { origin: rig.origin })
    expect(await reload(page)).toBe('signed-out')
    await signIn(page)
    expect(await reload(page)).toBe('signed-in')
  })

  it('indexed: a connection that the browser closed without an event is opened again', async () => {
    const context = await rig.context()
    await context.addInitScript(closeSilently)
    const page = await rig.signedIn(context, 'indexed')
    await page.evaluate(() => window.closeSilently?.())
    await rig.service.dev.expireAccessTokens()
    expect(await call(page)).toBe(200)
    expect(await eventsOf(page)).toEqual([])
    expect(await reload(page)).toBe('signed-in')
    expect(await page.evaluate(() => window.openings)).toBe(1)
    await page.evaluate(() => window.closeSilently?.())
    expect(await page.evaluate(() => window.app.codeOf(window.app.auth.signOut()))).toBe('resolved')
    expect(await page.evaluate(() => window.openings)).toBe(2)
    expect(await reload(page)).toBe('signed-out')
  })

  it('site data cleared: one event, signed out, and the next login works', async () => {
    const page = await rig.signedIn(await rig.context(), 'indexed')
    await clearSite(page)
    await page.evaluate(() => {
      window.app.ahead.monotonicMs += 2_000
    })
    expect(await call(page)).toBe('login_required')
    expect(await eventsOf(page)).toEqual(['session_ended store_lost'])
    await signIn(page)
    expect(await reload(page)).toBe('signed-in')
    expect(await call(page)).toBe(200)
  })

  it('a record that does not open is told once, and the next login replaces it', async () => {
    const context = await rig.context()
    const page = await rig.signedIn(context, 'indexed')
    await page.evaluate(async () => {
      const database = await new Promise<IDBDatabase>((resolve) => {
        const request = indexedDB.open('agent-auth')
        request.onsuccess = () => resolve(request.result)
      })
      const store = database.transaction('records', 'readwrite').objectStore('records')
      const [name] = await new Promise<IDBValidKey[]>((resolve) => {
        const request = store.getAllKeys()
        request.onsuccess = () => resolve(request.result)
      })
      await new Promise((resolve) => {
        store.put({ key: 'none', iv: new Uint8Array(12), text: new ArrayBuffer(32) }, name).onsuccess = resolve
      })
      database.close()
    })
    expect(await reload(page)).toBe('signed-out')
    expect(await eventsOf(page)).toEqual(['storage_degraded unreadable'])
    await signIn(page)
    expect(await reload(page)).toBe('signed-in')
  })
})

/** Runs in a page, before the app. */
function closeSilently(): void {
  const { transaction } = IDBDatabase.prototype
  const { open } = IDBFactory.prototype
  let last: IDBDatabase | undefined
  let isClosed = false
  window.openings = 0
  IDBFactory.prototype.open = function (...args) {
    window.openings = (window.openings ?? 0) + 1
    return open.apply(this, args)
  }
  IDBDatabase.prototype.transaction = function (...args: Parameters<typeof transaction>) {
    last = this
    if (isClosed) this.close()
    return transaction.apply(this, args)
  }
  window.closeSilently = (howLong) => {
    isClosed = howLong === 'for good'
    last?.close()
  }
}
