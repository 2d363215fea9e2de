/** @jsxImportSource hono/jsx */
import type { Context } from 'hono'
import type { HttpEnvironment } from '../../http/environment.ts'
import { showPage } from '../../ui/layout.tsx'
import { SignInForm } from './sign-in-form.tsx'

interface SignInPage {
  request: string
  status: 200 | 403 | 429 | 503
  problem?: string
}

export function showSignIn(c: Context<HttpEnvironment>, { request, status, problem }: SignInPage): Promise<Response> {
  const children = (
    <SignInForm action="/auth/v1/sign-in" problem={problem}>
      <input type="hidden" name="request" value={request} />
    </SignInForm>
  )
  return showPage(c, { status, title: 'Sign in', children })
}
