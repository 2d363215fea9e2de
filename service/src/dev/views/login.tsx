/** @jsxImportSource hono/jsx */

import type { Context } from 'hono'
import type { Child } from 'hono/jsx'
import type { HtmlEscapedString } from 'hono/utils/html'
import type { HttpEnvironment } from '../../http/hono-environment.ts'
import { Fact, showPage } from '../../ui/pages.tsx'
import { hashOf } from '../../ui/style.ts'
import { Table } from '../../ui/table.tsx'
import type { Login, LoginStep, Logins, NamedValue } from '../login-traces.ts'

/**
 * Updates the parts marked `data-live` every two seconds while the page is visible. It replaces a part only if its text
 * changed, so that a selection stays. Without the script the page is the same, and a reload updates it.
 */
export const liveScript: string = `
const status = document.getElementById('live')
status.textContent = 'Up to date within two seconds.'
const refresh = async () => {
  if (document.hidden === true) return
  try {
    const response = await fetch(location.href)
    if (!response.ok) throw new Error(response.statusText)
    const fresh = new DOMParser().parseFromString(await response.text(), 'text/html')
    for (const part of document.querySelectorAll('[data-live]')) {
      const next = fresh.getElementById(part.id)
      if (next && next.innerHTML !== part.innerHTML) part.replaceWith(next)
    }
    status.textContent = 'Up to date within two seconds.'
  } catch {
    status.textContent = 'The service does not respond.'
  }
}
const again = () => setTimeout(() => refresh().then(again), 2000)
again()
`

export const liveScriptHash: string = hashOf(liveScript)

interface Names {
  clientName(id: string | undefined): string
  emailOf(id: string | undefined): string
}

interface LoginPage extends Names {
  login: Login
  /** The text of a control that was done. */
  done: string | undefined
  token: string
}

/** The faults that a step offers, by the name that the action `add-fault` knows. */
const faultTexts = { 'status 503': 'Status 503', reset: 'Reset', 'drop-after-commit': 'Lose the response' }

/** Shows the requests of one login: what was sent where and what came back, and a button for each fault of the next such request. */
export function showLoginPage(
  c: Context<HttpEnvironment>,
  { login, done, token, clientName, emailOf }: LoginPage,
): Promise<Response> {
  const children = (
    <>
      {done === undefined ? null : <p role="status">{done}</p>}
      <dl class="facts">
        <Fact name="Client">{clientName(login.clientId)}</Fact>
        <Fact name="Person">{emailOf(login.personId)}</Fact>
      </dl>
      <p class="soft">
        A value after # is the fingerprint of a secret. Two equal fingerprints are the same secret. A verifier belongs
        to a challenge if its S256 has the fingerprint of the challenge.
      </p>
      <p class="soft" id="live">
        Reload the page to see new requests.
      </p>
      <div id="steps" data-live="">
        <Table
          label="Requests of this login, oldest first"
          columns={['Request', 'Sent', 'Response', 'Fail the next one']}
          rows={login.steps.map((step) => stepRow(step, { login, token }))}
        />
      </div>
      <p>
        <a href="/_dev">All dev controls</a>
      </p>
    </>
  )
  const script = { text: liveScript, hash: liveScriptHash }
  return showPage(c, { status: 200, title: `Login ${login.id}`, width: 'wide', script, children })
}

function stepRow(step: LoginStep, { login, token }: { login: Login; token: string }): Child[] {
  const { method, path, status, sent, received, fault } = step
  return [
    <>
      <strong>{step.name}</strong>
      <span class="line">
        {method} {path}
      </span>
      <span class="line soft">{timeText(step.atMs)}</span>
    </>,
    <Values values={sent} />,
    <>
      <span class="line">{fault === undefined ? status : `${status}, fault: ${fault}`}</span>
      <Values values={received} />
    </>,
    <form class="faults" method="post" action="/_dev/do">
      <input type="hidden" name="token" value={token} />
      <input type="hidden" name="action" value="add-fault" />
      <input type="hidden" name="path" value={path} />
      <input type="hidden" name="times" value="1" />
      <input type="hidden" name="login" value={login.id} />
      {Object.entries(faultTexts).map(([effect, text]) => (
        <button class="plain" type="submit" name="effect" value={effect} aria-label={`${text} at the next ${path}`}>
          {text}
        </button>
      ))}
    </form>,
  ]
}

function Values({ values }: { values: readonly NamedValue[] }) {
  return (
    <>
      {values.map(([name, value]) => (
        <span class="line">
          <span class="soft">{name}</span> {value}
        </span>
      ))}
    </>
  )
}

interface LoginListProps extends Names {
  logins: ReturnType<Logins['list']>
}

/** Lists the logins, newest first, each with a link to its requests. */
export function LoginList({
  logins,
  clientName,
  emailOf,
}: LoginListProps): HtmlEscapedString | Promise<HtmlEscapedString> {
  return (
    <Table
      label="Logins, newest first"
      columns={['Login', 'Client', 'Person', 'Requests']}
      rows={logins.map(({ id, clientId, personId, steps }) => [
        <a href={`/_dev/logins/${id}`}>
          Login {id}, {timeText(steps[0]?.atMs ?? 0)}
        </a>,
        clientName(clientId),
        emailOf(personId),
        steps.map((step) => `${step.name} ${step.status}`).join(', '),
      ])}
      empty="No logins yet."
    />
  )
}

function timeText(atMs: number): string {
  return new Date(atMs).toISOString().slice(11, 23)
}
