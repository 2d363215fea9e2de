// @module-tag slow

import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { recordTranscript, withTranscript } from '../scripts/transcript-page.ts'

const shown = readFileSync(new URL('../docs/command-line.md', import.meta.url), 'utf8')

test('docs/command-line.md shows what the command prints from login to logout, and no token, port or id [C-137]', async () => {
  const transcript = await recordTranscript()
  expect(shown, 'run npm run transcript').toBe(withTranscript(shown, transcript))
  expect(transcript.match(/^\$ npx agent-auth \w+/gm)).toEqual(
    ['login', 'status', 'fetch', 'doctor', 'logout'].map((name) => `$ npx agent-auth ${name}`),
  )
  expect(transcript).not.toMatch(/[\w-]{24,}|127\.0\.0\.1|:\d{4,5}\b/)
})

test('a transcript replaces what is between its markers and nothing else', () => {
  const page = withTranscript(shown, '$ true\n')
  expect(page).toContain('-->\n```console\n$ true\n```\n<!--')
  expect(page.length).toBeLessThan(shown.length)
  expect(withTranscript(page, '$ false\n').replace('$ false', '$ true')).toBe(page)
  expect(() => withTranscript('# Another page\n', '')).toThrow('the page has no markers for the transcript')
})
