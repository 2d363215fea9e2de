import type { Backend } from 'agent-auth/backend'
import { type BrowserAuth, createBrowserAuth } from 'agent-auth/browser'
import { createElement, type ReactElement, use } from 'react'
import { renderToReadableStream } from 'react-dom/server.edge'
import { expect, it } from 'vitest'
import type { SessionState } from '../../src/session/memory.ts'
import { createSession, type Session } from '../../src/session.ts'
import { configWith, optionsWith } from '../support/token-flow.ts'

// ready() without await. Its promise cannot say so: use() of React keeps a member `status` on it, as the state has one.

const sources: [name: string, ready: () => Promise<SessionState>][] = [
  ['session.ready', () => createSession(configWith()).ready()],
  ['auth.ready', () => createBrowserAuth(optionsWith()).ready()],
]

it.each(sources)('%s without await: its promise has no member of the state', (_, ready) => {
  const { status, reason, sessionRef, expiresAtMs } = ready() as unknown as SessionState
  expect({ status, reason, sessionRef, expiresAtMs }).toEqual({
    status: undefined,
    reason: undefined,
    sessionRef: undefined,
    expiresAtMs: undefined,
  })
})

it.each(sources)('%s: use() of React reads the state from its promise', async (_, ready) => {
  const promise = ready()
  const Status = (): ReactElement => createElement('b', null, use(promise).status)
  const stream = await renderToReadableStream(createElement(Status))
  expect(await new Response(stream).text()).toBe('<b>signed-out</b>')
})

it('TypeScript refuses the members of the state on the promises', () => {
  const read = (session: Session, auth: BrowserAuth, backend: Backend, request: Request): unknown => [
    // @ts-expect-error: a promise has no status.
    session.ready().status,
    // @ts-expect-error: a promise has no status.
    auth.ready().status,
    // @ts-expect-error: a promise has no status.
    backend.getSession(request).status,
  ]
  expect(read).toBeTypeOf('function')
})
