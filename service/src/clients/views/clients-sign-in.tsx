/** @jsxImportSource hono/jsx */
import type { Context } from 'hono'
import type { HttpEnvironment } from '../../http/hono-environment.ts'
import { SignInForm } from '../../sign-in/views/sign-in-form.tsx'
import { showPage } from '../../ui/layout.tsx'

interface ClientsSignInPage {
  token: string
  status: 200 | 403 | 429 | 503
  problem?: string
  email?: string | undefined
}

export function showClientsSignIn(
  c: Context<HttpEnvironment>,
  { token, status, problem, email }: ClientsSignInPage,
): Promise<Response> {
  const children = (
    <SignInForm action="/auth/v1/clients/sign-in" problem={problem} email={email}>
      <input type="hidden" name="token" value={token} />
    </SignInForm>
  )
  return showPage(c, { status, title: 'Sign in to manage API clients', children })
}
