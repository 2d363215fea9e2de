import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const service = fileURLToPath(new URL('..', import.meta.url))

test('every assumption is cited by the code it names, and the code cites no other', async () => {
  const text = await readFile(join(service, 'ASSUMPTIONS.md'), 'utf8')
  const rows = text.split('\n').flatMap((line) => {
    const id = /^\| (A-\d\d) \|/.exec(line)?.[1]
    return id === undefined
      ? []
      : [{ id, files: [...line.matchAll(/`([a-z-]+(?:\/[a-z-]+)*\.tsx?)`/g)].map(([, file]) => file) }]
  })
  expect(rows.length).toBeGreaterThan(20)
  const files = (await readdir(join(service, 'src'), { recursive: true })).filter((file) => /\.tsx?$/.test(file))
  const cited = new Set<string>()
  for (const file of files) {
    const source = await readFile(join(service, 'src', file), 'utf8')
    for (const [id] of source.matchAll(/\bA-\d\d\b/g)) {
      cited.add(id)
      expect(rows.find((row) => row.id === id)?.files, `${file} cites ${id}`).toContain(file)
    }
  }
  expect([...cited].sort()).toEqual(rows.map(({ id }) => id))
})
