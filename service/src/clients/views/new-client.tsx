/** @jsxImportSource hono/jsx */
import type { Context } from 'hono'
import type { HttpEnvironment } from '../../http/hono-environment.ts'
import { requestLimits } from '../../limits.ts'
import { PasswordField } from '../../sign-in/views/sign-in-form.tsx'
import { showPage } from '../../ui/layout.tsx'

interface NewClientPage {
  token: string
  /** Of the admin, whose password is asked for. */
  email: string
  status: 200 | 403 | 422 | 429 | 503
  problem?: string
  /** The rejected input, for correction. */
  asked?: { name: string; kind: string; redirectUris: string[] }
}

export function showNewClient(c: Context<HttpEnvironment>, page: NewClientPage): Promise<Response> {
  const { token, email, status, problem, asked } = page
  const children = (
    <form method="post" action="/auth/v1/clients">
      {problem === undefined ? null : <p role="alert">{problem}</p>}
      <input type="hidden" name="token" value={token} />
      <label for="name">Name</label>
      <input
        id="name"
        name="name"
        value={asked?.name ?? ''}
        maxlength={2 * requestLimits.clientNameCharacters}
        required
        autocomplete="off"
      />
      <fieldset>
        <legend>Kind</legend>
        <Kind value="public" text="Public: no secret, PKCE" chosen={asked?.kind !== 'confidential'} />
        <Kind value="confidential" text="Confidential: a secret, shown once" chosen={asked?.kind === 'confidential'} />
      </fieldset>
      <label for="redirect_uris">Redirect URIs, one per line</label>
      <textarea id="redirect_uris" name="redirect_uris" rows={4} required spellcheck={false}>
        {asked?.redirectUris.join('\n') ?? ''}
      </textarea>
      <PasswordField label="Your password again" username={email} />
      <button type="submit">Register</button>
      <p class="aside">
        <a href="/auth/v1/clients">Back to the clients</a>
      </p>
    </form>
  )
  return showPage(c, { status, title: 'Register a client', children })
}

function Kind({ value, text, chosen }: { value: string; text: string; chosen: boolean }) {
  return (
    <label class="choice">
      <input type="radio" name="kind" value={value} checked={chosen} /> {text}
    </label>
  )
}
