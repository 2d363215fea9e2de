import type { Context } from 'hono'
import { decryptRequest, storedFrom } from '../authorize/waiting-request.ts'
import { hashToken } from '../credentials/secrets.ts'
import { readCookie } from '../sign-in/cookies.ts'
import type { FormField } from '../sign-in/interaction-form.ts'
import { readOwnForm } from '../sign-in/interaction-form.ts'
import type { AuthorizationRequest } from '../store/tables/authorization-requests.ts'
import { findOpenRequest, saveRequest } from '../store/tables/authorization-requests.ts'
import { showError } from '../ui/error.tsx'
import type { HttpEnvironment } from './environment.ts'

export interface FormPost {
  /** What the page carries: the id of a stored request, or a request that waits for a sign-in. */
  id: string
  /** Undefined until somebody has signed in. */
  request: AuthorizationRequest | undefined
  get: FormField
}

/** A form of a request that is stored. */
export type StoredFormPost = FormPost & { request: AuthorizationRequest }

/** The longest request, encrypted, beside the longest password. */
const mostBytes = 32 * 1_024

/**
 * Reads a form of ours. It counts only with a request that began in this very browser, which a foreign page can neither
 * know nor make up (S-024); everything else the form could say about the request is ignored.
 */
export async function readFormPost(c: Context<HttpEnvironment>): Promise<FormPost | Response> {
  const { store, clock, keys } = c.get('service')
  const get = await readOwnForm(c, mostBytes)
  if (get instanceof Response) return get
  const id = get('request') ?? ''
  const browserHash = hashToken(readCookie(c, 'browser') ?? '')
  const nowMs = clock.nowMs()
  const request = await findOpenRequest(store.db, { idHash: hashToken(id), browserHash, nowMs })
  if (request !== undefined) return { id, request, get }
  const waiting = decryptRequest(keys, id)
  const isOpen = waiting !== undefined && waiting.browserHash === browserHash && waiting.expiresMs > nowMs
  return isOpen ? { id, request: undefined, get } : tooOld(c)
}

/** Stores the request of somebody who has signed in, once. */
export async function storeRequest(c: Context<HttpEnvironment>, post: FormPost): Promise<StoredFormPost | Response> {
  const { store, clock, keys } = c.get('service')
  const { id, request, get } = post
  if (request !== undefined) return { id, request, get }
  const waiting = decryptRequest(keys, id)
  if (waiting === undefined) return tooOld(c)
  const fresh = storedFrom(waiting)
  await saveRequest(store.db, fresh)
  const { id_hash: idHash, browser_hash: browserHash } = fresh
  const stored = await findOpenRequest(store.db, { idHash, browserHash, nowMs: clock.nowMs() })
  return stored === undefined ? tooOld(c) : { id: waiting.id, request: stored, get }
}

function tooOld(c: Context<HttpEnvironment>): Response | Promise<Response> {
  return showError(c, 400, 'This page has been used or is too old. Go back to your application and start again.')
}
