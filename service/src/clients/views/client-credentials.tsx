/** @jsxImportSource hono/jsx */
import type { Context } from 'hono'
import type { HttpEnvironment } from '../../http/hono-environment.ts'
import { Fact } from '../../ui/fact.tsx'
import { showPage } from '../../ui/layout.tsx'

interface CredentialsPage {
  name: string
  clientId: string
  clientSecret: string | undefined
}

/** Shows a secret. No other page does, and this one only in the response to making it (spec 5.1, S-042). */
export function showCredentials(
  c: Context<HttpEnvironment>,
  { name, clientId, clientSecret }: CredentialsPage,
): Promise<Response> {
  const children = (
    <>
      {clientSecret === undefined ? null : <p role="status">Copy the secret now. It is not shown again.</p>}
      <dl>
        <Fact name="Name">{name}</Fact>
        <Fact name="Client id">
          <code id="client-id">{clientId}</code>
        </Fact>
        {clientSecret === undefined ? null : (
          <Fact name="Client secret">
            <code id="client-secret">{clientSecret}</code>
          </Fact>
        )}
      </dl>
      <p>
        <a href={`/auth/v1/clients/${clientId}`}>Go to the client</a>
      </p>
    </>
  )
  return showPage(c, { status: 200, title: clientSecret === undefined ? 'Registered' : 'Your client secret', children })
}
