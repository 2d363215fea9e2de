import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

const folder = new URL('../.github/workflows/', import.meta.url)
const files = readdirSync(folder)

describe.each(files)('the workflow %s', (file) => {
  const text = readFileSync(new URL(file, folder), 'utf8')

  it('pins every action to a commit, with its version beside it', () => {
    const uses = text.split('\n').filter((line) => /\buses:/.test(line))
    expect(uses.length).toBeGreaterThan(0)
    expect(uses.filter((line) => !/uses: [\w.-]+\/[\w.-]+@[\da-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual([])
  })

  it('lets no job write to the repository', () => {
    expect(text).toMatch(/^permissions:\n {2}contents: read$/m)
    expect(text).not.toMatch(/(contents|packages|actions): write/)
  })

  it('calls no script of package.json that is missing', () => {
    const { scripts } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
    const called = [...text.matchAll(/npm run (?:-s )?([\w:]+)/g)].map(([, name]) => name)
    expect(called.filter((name) => name && !(name in scripts))).toEqual([])
  })
})
