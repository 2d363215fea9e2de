import { AuthProvider, RequireSession } from 'agent-auth/react'
import { createElement, memo, type ReactElement } from 'react'
import { renderToString } from 'react-dom/server'
import { expect, it } from 'vitest'
import { createBrowserAuth } from '../../src/browser/index.ts'
import { failure, optionsWith } from '../support/token-flow.ts'
import { invalid } from '../support/wrong-calls.ts'

// Properties of the components that a new user mistakes, as those of other libraries have these names.

const auth = createBrowserAuth(optionsWith())
const Door = (): ReactElement => createElement('p', null, 'door')
const guarded = (fallback: unknown): string =>
  renderToString(createElement(AuthProvider, { auth }, createElement(RequireSession, { fallback: fallback as never })))

it.each<[string, unknown]>([
  ['an element, which Suspense takes', createElement(Door, { key: 'door' })],
  ['text, which React takes for a tag', 'Loading'],
])('RequireSession says what its fallback is when it gets %s', async (_, fallback) => {
  expect(await failure(() => guarded(fallback))).toMatchObject(
    invalid('RequireSession needs a component. Write fallback={Door}, not fallback={<Door />}'),
  )
})

it('RequireSession takes a function and a component of memo as its fallback', () => {
  expect({ plain: guarded(Door), memo: guarded(memo(Door)) }).toEqual({ plain: '<p>door</p>', memo: '<p>door</p>' })
})

it('AuthProvider names an unknown prop, and says what to pass', async () => {
  expect(await failure(() => AuthProvider({ auth, client: 'x' } as never))).toMatchObject({ code: 'config_invalid' })
  for (const wrong of [undefined, optionsWith()])
    expect(await failure(() => renderToString(createElement(AuthProvider, { auth: wrong as never })))).toMatchObject(
      invalid('AuthProvider needs the result of createBrowserAuth or createBackendClient'),
    )
})
