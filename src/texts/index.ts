// The texts that an app shows to its users. No other entry point but the backend loads them.

import { type AgentAuthErrorCode, isAgentAuthError } from '../errors.ts'
import { present } from '../internal/values.ts'

/** The text of a failure for the user of an app, who can read neither codes nor logs. */
export interface UserText {
  /** What happened, as a heading. */
  readonly title: string
  /** What the user can do, in one or two sentences. */
  readonly text: string
  /** What the app offers: `retry` the same call, `sign-in`, or `none` if the user can do nothing in the app. */
  readonly action: 'retry' | 'sign-in' | 'none'
}

/** Texts that replace those of `userTexts`, in whole or in part. */
export type UserTextOverrides = {
  readonly [Code in AgentAuthErrorCode]?:
    | { readonly [Member in keyof UserText]?: UserText[Member] | undefined }
    | undefined
}

const again = 'Sign in again.'
const tellSupport = 'Contact the support of this app.'
const tryThenTell = 'Try again. If it fails again, contact the support of this app.'

function signIn(title: string, text: string = again): UserText {
  return { title, text, action: 'sign-in' }
}

function retry(title: string, text: string): UserText {
  return { title, text, action: 'retry' }
}

function none(title: string, text: string = tellSupport): UserText {
  return { title, text, action: 'none' }
}

/** The English text for each code. */
export const userTexts: Readonly<Record<AgentAuthErrorCode, UserText>> = {
  config_invalid: none('This app is not set up correctly'),
  insecure_context: none('This page is not secure', 'Open the app at an address that begins with https.'),
  callback_malformed: signIn('The sign-in came back incomplete'),
  state_mismatch: signIn('This sign-in was not started here'),
  flow_not_found: signIn('This sign-in is no longer valid', 'It took too long, or began elsewhere. Sign in again.'),
  flow_expired: signIn('The sign-in took too long'),
  already_handled: signIn('This sign-in was finished before', 'Go back to the app. Sign in again if it asks you to.'),
  login_denied: signIn('The sign-in was canceled', 'Sign in again if you want to continue.'),
  login_failed: signIn('The sign-in failed', 'Sign in again. If it fails again, contact the support of this app.'),
  popup_blocked: signIn('The browser blocked the sign-in window', 'Allow pop-ups for this page, then sign in again.'),
  popup_closed: signIn('The sign-in window was closed', 'Sign in again if you want to continue.'),
  issuer_mismatch: none('The sign-in came from an unexpected service'),
  exchange_interrupted: signIn('The sign-in was interrupted', 'Check your connection, then sign in again.'),
  grant_rejected: signIn('The service refused the sign-in'),
  client_rejected: none('The service does not accept this app'),
  login_required: signIn('You are signed out', 'Sign in to continue.'),
  session_ended: signIn('Your session has ended', 'Sign in again to continue.'),
  session_changed: retry('The user of this browser has changed', 'Reload the page to continue as the current user.'),
  temporarily_unavailable: retry('The service is not available', 'You are still signed in. Try again in a moment.'),
  timeout: retry('The service did not respond in time', 'Check your connection, then try again.'),
  aborted: retry('The request was canceled', 'Try again if you still need it.'),
  response_invalid: retry('The service sent an invalid response', tryThenTell),
  response_too_large: retry('The service sent a response that is too large', tryThenTell),
  storage_failed: retry('The session could not be read or saved', 'Try again. If it fails again, reload the page.'),
  storage_degraded: none('This browser does not save your session', 'You may have to sign in again after a reload.'),
  lock_timeout: retry('The session is in use', 'Close other tabs of this app, then try again.'),
  origin_forbidden: none('This request was not allowed'),
  unauthenticated: signIn('The service did not accept your sign-in'),
  client_not_approved: none('This app is not approved for your organization', 'Ask an administrator to approve it.'),
  permission_missing: none('You do not have permission', 'Ask an administrator of your organization for access.'),
  validation_failed: none('Some of the data is not valid', 'Correct the marked fields, then send the form again.'),
  request_failed: retry('The request failed', 'Check your connection, then try again.'),
}

/**
 * Returns the text for an error, or for a code, such as that of `errorPath` of a backend. A value that is neither has the text of
 * `request_failed`. `overrides` replaces texts, for example with those of another language.
 */
export function userText(error: unknown, overrides: UserTextOverrides = {}): UserText {
  const code = codeOf(isAgentAuthError(error) ? error.code : error)
  return { ...userTexts[code], ...present({ ...overrides[code] }) }
}

function codeOf(value: unknown): AgentAuthErrorCode {
  return typeof value === 'string' && Object.hasOwn(userTexts, value) ? (value as AgentAuthErrorCode) : 'request_failed'
}
