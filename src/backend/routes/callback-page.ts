import { encode as base64url } from 'jose/base64url'
import type { AgentAuthErrorCode } from '../../errors.ts'
import { pageStyle, pageStyleSource } from '../../internal/page-style.ts'
import { createResponse, type ResponseOptions } from '../responses.ts'

/**
 * Returns a page that replaces itself by the target. The request for the target then comes from this site, so the browser
 * sends a Strict cookie with it. The URL with the code leaves the history, so Back does not lead to it.
 */
export function continuePage(target: string, options: ResponseOptions): Response {
  const nonce = base64url(crypto.getRandomValues(new Uint8Array(16)))
  const script = `<script nonce="${nonce}">location.replace(document.querySelector('a').href)</script>`
  return page('Signed in', `<p><a href="${escapeHtml(target)}">Continue</a></p>${script}`, {
    ...options,
    headers: contentPolicy(`script-src 'nonce-${nonce}'`),
  })
}

export interface FailedLogin {
  readonly code: AgentAuthErrorCode
  /** For developers, who open the details of the page. */
  readonly message: string
  /** Whether the details are open: on loopback, where the user is the developer. */
  readonly isOpen: boolean
  /** Starts the login again. */
  readonly loginUrl: string
}

/** Returns the page of a login that failed: the text for the user and a link to start it again. */
export async function errorPage(
  { code, message, isOpen, loginUrl }: FailedLogin,
  options: ResponseOptions,
): Promise<Response> {
  // Loaded by the first failed login, because every file makes a start of Node longer.
  const { userText } = await import('../../texts/index.ts')
  const { title, text } = userText(code)
  const details = `<details${isOpen ? ' open' : ''}><summary>For developers</summary><p>${escapeHtml(message)}</p><p><code>${code}</code></p></details>`
  const body = `<h1>${title}</h1><p>${text}</p><p><a href="${escapeHtml(loginUrl)}">Sign in again</a></p>${details}`
  return page(title, body, { ...options, headers: { ...contentPolicy(), ...options.headers } })
}

function page(title: string, body: string, options: ResponseOptions): Response {
  const html = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title><style>${pageStyle}</style></head><body><main>${body}</main></body></html>`
  return createResponse(html, {
    ...options,
    headers: { 'content-type': 'text/html; charset=utf-8', ...options.headers },
  })
}

function contentPolicy(more = ''): Record<string, string> {
  const base = `default-src 'none'; style-src ${pageStyleSource}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
  return { 'content-security-policy': more ? `${base}; ${more}` : base }
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
