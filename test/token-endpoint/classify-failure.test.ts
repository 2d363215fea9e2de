import { expect, test } from 'vitest'
import { classify } from '../../src/token-endpoint/classify-failure.ts'

// No Response can be made of 0 and 199, but a fetch of the caller's may return them.
test.each([
  [0, 'ambiguous'],
  [199, 'ambiguous'],
  [300, 'config'],
  [399, 'config'],
])('the status %d is %s, also with an error in its body', (status, outcome) => {
  const body = { error: 'invalid_grant' }
  expect(classify('refresh_token', { status, media: 'json', body })).toBe(outcome)
})
