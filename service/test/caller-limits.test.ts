import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { inMebibytes } from '../src/byte-count.ts'
import { helpText } from '../src/cli/texts.ts'
import { limits } from '../src/limits.ts'

const service = fileURLToPath(new URL('..', import.meta.url))

/** A limit as texts name it. */
function written([name, value]: [string, number]): string {
  if (name.endsWith('Bytes')) return inMebibytes(value)
  return name.endsWith('Ms') ? `${value / 1_000} s` : value.toLocaleString('en-US')
}

test.each(Object.entries(limits))(
  'the limit %s of %i stands in --help, ASSUMPTIONS.md and README.md',
  async (...limit) => {
    const texts = await Promise.all(['ASSUMPTIONS.md', 'README.md'].map((file) => readFile(service + file, 'utf8')))
    for (const text of texts) expect(text).toContain(written(limit))
    expect(helpText.replace(/(\d)(\d{3})(?!\d)/g, '$1,$2')).toContain(written(limit))
  },
)

test('no line of --help is longer than a terminal of 132 columns', () => {
  for (const line of helpText.split('\n')) expect(line.length, line).toBeLessThanOrEqual(132)
})
