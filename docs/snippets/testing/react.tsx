/** @jsxImportSource react */
import { createBrowserAuth } from 'agent-auth/browser'
import { AuthProvider, useAuth } from 'agent-auth/react'
import { testService } from 'agent-auth/testing'
import type { ReactElement } from 'react'
import { createRoot } from 'react-dom/client'
import { afterAll, expect, test } from 'vitest' // in the environment jsdom or happy-dom

const service = await testService({ after: afterAll })

function Greeting(): ReactElement {
  const { state, signOut } = useAuth()
  if (state.status !== 'signed-in') return <p>You are signed out.</p>
  return (
    <button type="button" onClick={() => signOut().catch(() => alert('Sign out again.'))}>
      Sign out
    </button>
  )
}

test('a signed-in user can sign out', async () => {
  const auth = createBrowserAuth({ ...service.options, redirectUri: `${location.origin}/callback` })
  await auth.session.signIn(await service.login())
  const element = document.body.appendChild(document.createElement('main'))
  const root = createRoot(element)
  root.render(
    <AuthProvider auth={auth}>
      <Greeting />
    </AuthProvider>,
  )
  await expect.poll(() => element.textContent).toBe('Sign out')
  element.querySelector('button')?.click()
  await expect.poll(() => element.textContent).toBe('You are signed out.')
  root.unmount()
  element.remove()
  auth.close()
})
