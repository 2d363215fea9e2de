/** @jsxImportSource hono/jsx */
import type { Context } from 'hono'
import type { HttpEnvironment } from '../../http/hono-environment.ts'
import type { Account } from '../../store/tables/accounts.ts'
import { showPage } from '../../ui/layout.tsx'
import { SignInForm } from './sign-in-form.tsx'

export interface SignInPage {
  request: string
  status: 200 | 403 | 429 | 503
  problem?: string
  /** The email address of a refused attempt. */
  email?: string | undefined
  /** The users that one click signs in. */
  people: readonly Account[]
}

export function showSignIn(
  c: Context<HttpEnvironment>,
  { request, status, problem, email, people }: SignInPage,
): Promise<Response> {
  const children = (
    <>
      <SignInForm action="/auth/v1/sign-in" problem={problem} email={email}>
        <input type="hidden" name="request" value={request} />
      </SignInForm>
      {people.length === 0 ? null : <UserChoice request={request} people={people} />}
    </>
  )
  return showPage(c, { status, title: 'Sign in', children })
}

function UserChoice({ request, people }: Pick<SignInPage, 'request' | 'people'>) {
  return (
    <form method="post" action="/auth/v1/sign-in-as">
      <h2>Continue as</h2>
      <p class="soft">Without a password, because the dev controls are on.</p>
      <input type="hidden" name="request" value={request} />
      <div class="choices">
        {people.map(({ email, name, tenantName }) => (
          <button class="plain" type="submit" name="email" value={email}>
            {name} · {email} · {tenantName}
          </button>
        ))}
      </div>
    </form>
  )
}
