import { readFileSync } from 'node:fs'
import type { Backend } from 'agent-auth/backend'
import { type BrowserAuth, createBrowserAuth } from 'agent-auth/browser'
import { createElement, type ReactElement, use } from 'react'
import { renderToReadableStream } from 'react-dom/server.edge'
import { expect, it } from 'vitest'
import type { SessionState } from '../../src/session/memory.ts'
import { createSession, type Session } from '../../src/session.ts'
import { configWith, failure, optionsWith } from '../support/token-flow.ts'
import { backendWith, invalid } from '../support/wrong-calls.ts'

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

it('TypeScript refuses the members of the state on the promises, and each page says to write await', () => {
  const read = (session: Session, auth: BrowserAuth, backend: Backend, request: Request): unknown => [
    // @ts-expect-error: a promise has no status.
    session.ready().status,
    // @ts-expect-error: a promise has no status.
    auth.ready().status,
    // @ts-expect-error: a promise has no status.
    backend.getSession(request).status,
  ]
  expect(read).toBeTypeOf('function')
  const text = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
  for (const page of ['browser.md', 'sessions.md'])
    expect(text(`docs/${page}`)).toContain('Write `await` before `ready()`: its promise has no `status`.')
  expect(text('docs/backend.md')).toContain('Write `await` before `getSession()`: its promise has no `status`.')
  for (const source of ['session.ts', 'browser/auth.ts', 'backend/backend.ts', 'backend/client/session.ts'])
    expect(text(`src/${source}`)).toMatch(/Write `await`: the promise[\s*]+itself has no `status`/)
})

it.each(['key', 'claims', 'fetch', 'getAccessToken'] as const)(
  'getSession without await: reading %s says that await is missing',
  async (member) => {
    const promise = backendWith({}).getSession(new Request('https://app.example.com/'))
    expect(await failure(() => promise[member as never])).toMatchObject(
      invalid('getSession returns a promise. Write await before getSession'),
    )
    expect((await promise).status).toBe('signed-out')
  },
)
