/** @jsxImportSource hono/jsx */
import type { Context } from 'hono'
import type { HttpEnvironment } from '../http/environment.ts'
import { showPage } from './layout.tsx'

interface SignInPage {
  request: string
  status: 200 | 403 | 429
  problem?: string
}

export function showSignIn(c: Context<HttpEnvironment>, { request, status, problem }: SignInPage): Promise<Response> {
  const children = (
    <form method="post" action="/auth/v1/sign-in">
      {problem === undefined ? null : (
        <p role="alert" id="problem">
          {problem}
        </p>
      )}
      <input type="hidden" name="request" value={request} />
      <label for="email">Email address</label>
      <input id="email" name="email" type="email" autocomplete="username" required autofocus />
      <label for="password">Password</label>
      <input id="password" name="password" type="password" autocomplete="current-password" maxlength={1024} required />
      <button type="submit">Sign in</button>
    </form>
  )
  return showPage(c, { status, title: 'Sign in', children })
}
