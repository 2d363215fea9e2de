// The hash of session ids: src/backend/cookies/sha256.ts.
import { createHash } from 'node:crypto'
import { expect, onTestFinished, test, vi } from 'vitest'
import { sha256 } from '../../src/backend/cookies/sha256.ts'

test.each([
  ['Node', undefined],
  ['a platform without modules of Node', () => undefined],
  ['a platform whose node:crypto has no hash', () => ({})],
])('is the SHA-256 of the text on %s, so that processes on different platforms share sessions', async (_, load) => {
  if (load) {
    const spy = vi.spyOn(process, 'getBuiltinModule').mockImplementation(load as never)
    onTestFinished(() => spy.mockRestore())
  }
  for (const text of ['', 'https://app.example.com/auth/callback abc', 'é\u{1F3D4}'])
    expect(await sha256(text)).toBe(createHash('sha256').update(text).digest('base64url'))
})
