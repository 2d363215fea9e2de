import { AgentAuthError } from 'agent-auth'
import { type UserTextOverrides, userText, userTexts } from 'agent-auth/texts'
import { expect, test } from 'vitest'

test('userText returns the text of an error, and of its code alone, as in the address of an error page', () => {
  const error = new AgentAuthError('session_ended', 'For developers. Call signIn().')
  expect(userText(error)).toEqual({
    title: 'Your session has ended',
    text: 'Sign in again to continue.',
    action: 'sign-in',
  })
  expect(userText('session_ended')).toEqual(userText(error))
})

test.each([new TypeError('fetch failed'), undefined, 'no_such_code', 'toString', { code: 'timeout' }])(
  'userText returns the text of request_failed for %s, which is no error of the library',
  (value) => {
    expect(userText(value)).toEqual(userTexts.request_failed)
  },
)

test('an override replaces the members that it has, for its code alone', () => {
  const overrides = { timeout: { title: 'Zeitüberschreitung' } }
  expect(userText('timeout', overrides)).toEqual({ ...userTexts.timeout, title: 'Zeitüberschreitung' })
  expect(userText('aborted', overrides)).toEqual(userTexts.aborted)
})

test('an override without a value replaces nothing, as with the options of all functions', () => {
  const overrides: UserTextOverrides = { timeout: { title: undefined, text: 'Später.' }, aborted: undefined }
  expect(userText('timeout', overrides)).toEqual({ ...userTexts.timeout, text: 'Später.' })
  expect(userText('aborted', overrides)).toEqual(userTexts.aborted)
})

test('no text for users names a code, an option or a function', () => {
  const texts = Object.values(userTexts).map(({ title, text }) => `${title}. ${text}`)
  expect(texts.filter((text) => /[a-z]+_[a-z]+|\w\(|[a-z][A-Z]|`/.test(text))).toEqual([])
  expect(texts.filter((text) => text.length > 160)).toEqual([])
})
