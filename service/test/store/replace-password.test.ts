// @module-tag database

import { expect, onTestFinished, test } from 'vitest'
import type { Assembly } from '../../src/server/create-service.ts'
import { type Db, opaqueDatabase, rawDatabase } from '../../src/store/database.ts'
import {
  createSignInSession,
  deleteSignInSession,
  findAccountByEmail,
  useSignInSession,
} from '../../src/store/logins.ts'
import { replacePassword } from '../../src/store/replace-password.ts'
import { signal, untilWaiting } from '../support/held-up.ts'
import { authorize, authorizeUrl, Browser, clientOf, exchange, personOf, signInPath } from '../support/login.ts'
import { assemble } from '../support/start.ts'
import { observe } from '../support/statements.ts'
import { removeIdleTimeout } from '../support/untimed.ts'

const email = 'ada@demo.example'

interface Started extends Assembly {
  browser: Browser
  /** Replaces the password of this user as `agent-service reset-password` does. */
  replace(password: string): Promise<unknown>
}

async function started(): Promise<Started> {
  const assembly = await assemble()
  const { service, context } = assembly
  onTestFinished(service.close)
  const { store, passwords, clock } = context
  const replace = async (password: string) =>
    replacePassword(store, { email, passwordHash: await passwords.hash(password), nowMs: clock.nowMs() })
  return { ...assembly, browser: new Browser(service.fetch), replace }
}

const newPassword = 'n'.repeat(43)

test('a new password voids the codes of its user that no application has exchanged', async () => {
  const { service, replace } = await started()
  const client = clientOf(service, 'Demo public')
  const ada = await authorize(service, { client })
  const rui = await authorize(service, { client, person: personOf(service, 'rui') })
  expect(await replace(newPassword)).toBe('done')
  expect((await exchange(service, ada)).status).toBe(400)
  expect((await exchange(service, rui)).status).toBe(200)
})

test('a new password deletes the requests that its user was asked about, so that a decision on its way is refused', async () => {
  const { service, context, browser, replace } = await started()
  const other = new Browser(service.fetch)
  for (const [each, name] of [
    [browser, 'ada'],
    [other, 'rui'],
  ] as const) {
    const person = { email: personOf(service, name).email, password: personOf(service, name).password }
    await each.submit(await each.get(authorizeUrl(service).url), signInPath, person)
  }
  const requests = rawDatabase(context.store.db).selectFrom('authorization_requests').select('id_hash')
  expect(await requests.execute()).toHaveLength(2)
  await replace(newPassword)
  expect(await requests.execute()).toHaveLength(1)
})

test('a sign-in whose password was replaced during the comparison is refused, and recorded as failed', async () => {
  const { service, context, browser, replace } = await started()
  const { password } = personOf(service, 'ada')
  const { verify } = context.passwords
  context.passwords.verify = async (...presented) => {
    const result = await verify(...presented)
    await replace(newPassword)
    return result
  }
  const page = await browser.get(authorizeUrl(service).url)
  const answer = await browser.submit(page, signInPath, { email, password })
  expect({ status: answer.status, session: browser.cookie('session') }).toStrictEqual({
    status: 403,
    session: undefined,
  })
  const events = service.dev.journal().flatMap((entry) => ('event' in entry ? [entry.event] : []))
  expect(events).toEqual(['sign_in_failed'])
})

test('an admin whose password was replaced during the comparison gets no client and no secret', async () => {
  const { service, context, browser, replace } = await started()
  const { password } = personOf(service, 'ada')
  const clientsPath = '/auth/v1/clients'
  const { clientId } = clientOf(service, 'Demo confidential')
  const { verify } = context.passwords
  for (const [path, action, fields] of [
    [
      `${clientsPath}/new`,
      clientsPath,
      { name: 'Mine', kind: 'confidential', redirect_uris: 'https://new.example/cb' },
    ],
    [`${clientsPath}/${clientId}`, `${clientsPath}/${clientId}/secrets`, {}],
  ] as const) {
    const signIn = await browser.get(service.authUrl + clientsPath)
    await browser.submit(signIn, `${clientsPath}/sign-in`, { email, password })
    const form = await browser.get(service.authUrl + path)
    const before = service.dev.journal().length
    context.passwords.verify = async (...presented) => {
      const result = await verify(...presented)
      await replace(newPassword)
      return result
    }
    const answer = await browser.submit(form, action, { ...fields, password })
    context.passwords.verify = verify
    expect({ status: answer.status, hasMessage: answer.html.includes('The password is wrong.') }).toEqual({
      status: 403,
      hasMessage: true,
    })
    const later = service.dev.journal().slice(before)
    expect(later.flatMap((entry) => ('event' in entry ? [entry.event] : []))).toEqual(['sign_in_failed'])
    await replace(password)
  }
})

test('a hash of an older form is renewed, but never in the place of a password that was replaced', async () => {
  const { service, context, browser, replace } = await started()
  const { password } = personOf(service, 'ada')
  let renewals = 0
  const { verify } = context.passwords
  context.passwords.isCurrent = () => renewals > 0
  context.passwords.verify = async (...presented) => {
    const result = await verify(...presented)
    if (renewals === 0) await replace(newPassword)
    renewals += 1
    return result
  }
  const page = await browser.get(authorizeUrl(service).url)
  expect((await browser.submit(page, signInPath, { email, password })).status).toBe(403)
  expect((await browser.submit(page, signInPath, { email, password: newPassword })).status).toBe(200)
})

/** Does this in an open transaction, in which it waits until `end` is called. */
async function held(context: Assembly['context'], task: (tx: Db) => Promise<void>): Promise<() => Promise<void>> {
  const [begun, mayEnd] = [signal(), signal()]
  const holding = rawDatabase(context.store.db)
    .transaction()
    .execute(async (tx) => {
      await removeIdleTimeout(tx)
      await task(opaqueDatabase(tx))
      begun.give()
      await mayEnd.given
    })
  await begun.given
  return () => {
    mayEnd.give()
    return holding
  }
}

/** Settles like the promise, and knows when it has. */
function noting<Value>(settling: Promise<Value>): { settled: Promise<Value>; isOver(): boolean } {
  let isOver = false
  const settled = settling.finally(() => {
    isOver = true
  })
  return { settled, isOver: () => isOver }
}

async function sessionOf(context: Assembly['context'], idHash: string) {
  const { id: personId = '', passwordHash = '' } = (await findAccountByEmail(context.store.db, email)) ?? {}
  return { idHash, personId, passwordHash, nowMs: context.clock.nowMs() }
}

test('a new password waits for a sign-in session that is being added, and ends it', async () => {
  const { context, replace } = await started()
  const db = rawDatabase(context.store.db)
  const session = await sessionOf(context, 'session')
  const end = await held(context, async (tx) => {
    expect(await createSignInSession(tx, session)).toBe('created')
  })
  const replacing = noting(replace(newPassword))
  await untilWaiting(db, replacing.isOver)
  await Promise.all([end(), replacing.settled])
  expect(await db.selectFrom('sign_in_sessions').select('id_hash').execute()).toEqual([])
})

test('a session that is live while a new password waits for a refresh gets no code that outlives it', async () => {
  const { service, context, browser, replace } = await started()
  const client = clientOf(service, 'Demo public')
  await authorize(service, { client, browser })
  const db = rawDatabase(context.store.db)
  const end = await held(context, async (tx) => {
    await rawDatabase(tx).deleteFrom('grants').where('id', '=', 'none').execute()
  })
  const replacing = noting(replace(newPassword))
  await untilWaiting(db, replacing.isOver)
  const approving = noting(authorize(service, { client, browser }))
  await untilWaiting(db, approving.isOver, 2)
  await Promise.all([end(), replacing.settled])
  expect((await exchange(service, await approving.settled)).status).toBe(400)
  expect(await db.selectFrom('authorization_codes').selectAll().execute()).toEqual([])
})

test('a sign-in session that ends while its user is read counts as ended', async () => {
  const assembly = await started()
  const { context } = assembly
  const session = await sessionOf(context, 'session')
  await createSignInSession(context.store.db, session)
  observe(assembly, {
    async after({ sql }) {
      if (sql.startsWith('select') && sql.includes('"sign_in_sessions"'))
        await deleteSignInSession(context.store.db, { idHash: 'session' })
    },
  })
  expect(await useSignInSession(context.store.db, { idHash: 'session', nowMs: session.nowMs })).toBeUndefined()
})
