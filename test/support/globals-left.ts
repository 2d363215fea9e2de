import { afterAll, expect } from 'vitest'

// Runs before every test file. Files without isolation share their globals: what one leaves replaced, the next ones meet.

const names = [
  'Date',
  'clearInterval',
  'clearTimeout',
  'crypto',
  'fetch',
  'setImmediate',
  'setInterval',
  'setTimeout',
] as const
const atStart = values()

afterAll(() => {
  const atEnd = values()
  const replaced = names.filter((_, index) => atStart[index] !== atEnd[index])
  expect(replaced, 'globals that this file left replaced').toEqual([])
})

function values(): unknown[] {
  return names.map((name) => globalThis[name])
}
