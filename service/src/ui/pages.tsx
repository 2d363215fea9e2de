/** @jsxImportSource hono/jsx */

import type { Context } from 'hono'
import { html, raw } from 'hono/html'
import type { Child, JSXNode } from 'hono/jsx'
import type { HtmlEscapedString } from 'hono/utils/html'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import { isFromThisMachine } from '../http/messages.ts'
import { credentialLimits } from '../limits.ts'
import { type Account, listAccounts } from '../store/logins.ts'
import { style, styleHash } from './style.ts'

type PageStatus = 200 | 400 | 403 | 404 | 405 | 413 | 415 | 422 | 429 | 500 | 503

export interface Page {
  status: PageStatus
  title: string
  /** `wide` is for tables. */
  width?: 'narrow' | 'wide'
  /** Where forms and the redirects behind them may lead. Default: to this origin. */
  formsLead?: 'anywhere'
  /** The URL that the page navigates to at once. */
  forwardTo?: string
  /** The only script that may run, allowed by its hash. It may send requests to this origin. */
  script?: { text: string; hash: string }
  children: Child
}

type Html = HtmlEscapedString | Promise<HtmlEscapedString>

function policyFor({ script, formsLead }: Page): string {
  const scripted = script === undefined ? [] : [`script-src ${script.hash}`, "connect-src 'self'"]
  return [
    "default-src 'none'",
    `style-src ${styleHash}`,
    ...scripted,
    ...(formsLead === 'anywhere' ? [] : ["form-action 'self'"]),
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ')
}

/** Sends a page with headers that allow no script of others (XSS), no frame (clickjacking), no cache and no referrer. */
export async function showPage(c: Context<HttpEnvironment>, page: Page): Promise<Response> {
  c.header('Content-Security-Policy', policyFor(page))
  const trace = c.get('trace')
  if (trace !== undefined) trace.page = page.title
  c.header('X-Frame-Options', 'DENY')
  c.header('Referrer-Policy', 'no-referrer')
  c.header('Cache-Control', 'no-store')
  // The Node server sends text at once. For the object that `html` returns it makes a Response with a stream.
  return c.html(String(await textOf(page)), page.status)
}

/**
 * Renders a page as text. Hono's components for the head of a page, and `toString` of an element, start an
 * AsyncLocalStorage for asynchronous components. From then on Node 20 calls a hook for every promise of the process. The
 * frame is a template instead, and no component is asynchronous.
 */
function textOf({ title, width = 'narrow', forwardTo, script, children }: Page): Html {
  const forward = forwardTo === undefined ? '' : html`<meta http-equiv="refresh" content="0;url=${forwardTo}" />`
  const main = <Main title={title} width={width} content={children} />
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        ${forward}
        <title>${title} · Agent Management Service</title>
        <style>${raw(style)}</style>
      </head>
      <body>
        ${raw(elementText(main))}
        ${script === undefined ? '' : html`<script type="module">${raw(script.text)}</script>`}
      </body>
    </html>`
}

function elementText(element: Html): string {
  const buffer = Object.assign([''], { callbacks: [] })
  const node = element as unknown as JSXNode
  node.toStringToBuffer(buffer)
  const [text] = buffer
  if (!text || buffer.length > 1) throw new Error('a page is one element without asynchronous parts')
  return text
}

function Main({ title, width, content }: { title: string; width: 'narrow' | 'wide'; content: Child }) {
  return (
    <main class={width}>
      <p class="brand">Agent Management Service</p>
      <h1>{title}</h1>
      {content}
    </main>
  )
}

/** Shows what happened and what to do, each in a paragraph. */
export function showError(
  c: Context<HttpEnvironment>,
  status: PageStatus,
  problem: string,
  fixes: readonly string[] = [],
): Promise<Response> {
  const children = (
    <>
      <p role="alert">{problem}</p>
      {fixes.map((fix) => (
        <p>{fix}</p>
      ))}
    </>
  )
  return showPage(c, { status, title: 'Request failed', children })
}

/** One line of a list of facts. */
export function Fact({
  name,
  children,
}: {
  name: string
  children: Child
}): HtmlEscapedString | Promise<HtmlEscapedString> {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <bdi>{children}</bdi>
      </dd>
    </div>
  )
}

interface SignInFormProps {
  action: string
  problem: string | undefined
  /** The email address that the user entered before. */
  email: string | undefined
  /** Hidden fields. */
  children: Child
}

export function SignInForm({ action, problem, email, children }: SignInFormProps): Html {
  return (
    <form method="post" action={action}>
      {problem === undefined ? null : (
        <p role="alert" id="problem">
          {problem}
        </p>
      )}
      {children}
      <label for="email">Email address</label>
      <input
        id="email"
        name="email"
        type="email"
        value={email}
        autocomplete="username"
        required
        autofocus={email === undefined}
        aria-describedby={problem === undefined ? undefined : 'problem'}
      />
      <PasswordField focused={email !== undefined} />
      <button type="submit">Sign in</button>
    </form>
  )
}

interface PasswordFieldProps {
  label?: string
  username?: string
  focused?: boolean
}

/** `username` helps a password manager if the form asks for the password alone. */
export function PasswordField({ label = 'Password', username, focused = false }: PasswordFieldProps): Html {
  return (
    <>
      {username === undefined ? null : <input value={username} autocomplete="username" readonly hidden />}
      <label for="password">{label}</label>
      <input
        id="password"
        name="password"
        type="password"
        autocomplete="current-password"
        maxlength={credentialLimits.passwordCharacters}
        required
        autofocus={focused}
      />
    </>
  )
}

interface SignInPage {
  request: string
  status: 200 | 403 | 429 | 503
  problem?: string
  /** The email address of a refused attempt. */
  email?: string | undefined
  /** The users that one click signs in. */
  people: readonly Account[]
}

function showSignIn(
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

/** More buttons would hide the form. */
const mostUsersToChoose = 20

/** Shows the sign-in page of an authorization request. */
export async function askSignIn(c: Context<HttpEnvironment>, page: Omit<SignInPage, 'people'>): Promise<Response> {
  const people = mayChooseUser(c) ? (await activeAccounts(c)).slice(0, mostUsersToChoose) : []
  return showSignIn(c, { ...page, people })
}

/** Returns the user of this email address who may sign in without a password: none without the dev controls. */
export async function chosenAccount(c: Context<HttpEnvironment>, email: string): Promise<Account | undefined> {
  if (!mayChooseUser(c)) return undefined
  return (await activeAccounts(c)).find((account) => account.email === email)
}

/** By the rules of the dev controls, which show every password. */
function mayChooseUser(c: Context<HttpEnvironment>): boolean {
  return c.get('service').config.dev === 'on' && isFromThisMachine(c)
}

async function activeAccounts(c: Context<HttpEnvironment>): Promise<Account[]> {
  return (await listAccounts(c.get('service').store.db)).filter(({ active }) => active)
}
