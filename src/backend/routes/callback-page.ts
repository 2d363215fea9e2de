import { base64url } from '../../internal/base64url.ts'
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

/** Returns the page of a login that failed, with a link to start it again. */
export function errorPage(message: string, code: string, loginUrl: string, options: ResponseOptions): Response {
  const body = `<h1>The sign-in did not finish</h1><p>${escapeHtml(message)}</p><p><a href="${escapeHtml(loginUrl)}">Sign in again</a></p><p><code>${escapeHtml(code)}</code></p>`
  return page('Sign-in', body, { ...options, headers: { ...contentPolicy(), ...options.headers } })
}

function page(title: string, body: string, options: ResponseOptions): Response {
  const html = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title></head><body>${body}</body></html>`
  return createResponse(html, {
    ...options,
    headers: { 'content-type': 'text/html; charset=utf-8', ...options.headers },
  })
}

function contentPolicy(more = ''): Record<string, string> {
  const base = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
  return { 'content-security-policy': more ? `${base}; ${more}` : base }
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
