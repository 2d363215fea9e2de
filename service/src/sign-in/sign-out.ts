import type { Context } from 'hono'
import { keyedHash, sameText } from '../credentials/secrets.ts'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import { showError } from '../ui/error.tsx'
import { readInteractionForm } from './interaction-form.ts'
import type { SignedIn } from './sign-in-session.ts'
import { endSignedIn, readSignedIn } from './sign-in-session.ts'
import { showSignedOut, showSignOut } from './views/sign-out.tsx'

/** GET /auth/v1/sign-out: asks before it ends the sign-in session, because a link of another site may lead here. */
export async function askSignOut(c: Context<HttpEnvironment>): Promise<Response> {
  const signedIn = await readSignedIn(c)
  if (signedIn === undefined) return showSignedOut(c)
  return showSignOut(c, { account: signedIn.account, token: formToken(c, signedIn) })
}

/**
 * POST /auth/v1/sign-out/confirm. It ends the sign-in on these pages alone: the tokens of applications stay valid. The form has the
 * token of the session that its page showed (CSRF protection, S-024).
 */
export async function confirmSignOut(c: Context<HttpEnvironment>): Promise<Response> {
  const get = await readInteractionForm(c)
  if (get instanceof Response) return get
  const signedIn = await readSignedIn(c)
  if (signedIn === undefined) return showSignedOut(c)
  if (!sameText(get('token') ?? '', formToken(c, signedIn)))
    return showError(c, 403, 'Your session has changed since this form was opened. Open the page again.')
  await endSignedIn(c, signedIn)
  return showSignedOut(c)
}

function formToken(c: Context<HttpEnvironment>, { sessionHash }: SignedIn): string {
  return keyedHash(c.get('service').keys.hashKey, `sign-out form ${sessionHash}`)
}
