import { base64url } from '../internal/base64url.ts'
import { type AnswerOptions, answer } from './responses.ts'

/**
 * A page that goes on by itself and leaves no trace in the history: the next request comes from this site, so that a
 * Strict cookie goes along, and the code is not a step Back leads to.
 */
export function goOn(target: string, options: AnswerOptions): Response {
  const nonce = base64url(crypto.getRandomValues(new Uint8Array(16)))
  const script = `<script nonce="${nonce}">location.replace(document.querySelector('a').href)</script>`
  return page('Signed in', `<p><a href="${escapeHtml(target)}">Continue</a></p>${script}`, {
    ...options,
    headers: policy(`script-src 'nonce-${nonce}'`),
  })
}

export function errorPage(text: string, code: string, again: string, options: AnswerOptions): Response {
  const body = `<h1>The sign-in did not finish</h1><p>${escapeHtml(text)}</p><p><a href="${escapeHtml(again)}">Sign in again</a></p><p><code>${escapeHtml(code)}</code></p>`
  return page('Sign-in', body, { ...options, headers: { ...policy(), ...options.headers } })
}

function page(title: string, body: string, options: AnswerOptions): Response {
  const html = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title></head><body>${body}</body></html>`
  return answer(html, { ...options, headers: { 'content-type': 'text/html; charset=utf-8', ...options.headers } })
}

function policy(more = ''): Record<string, string> {
  const base = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
  return { 'content-security-policy': more ? `${base}; ${more}` : base }
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
