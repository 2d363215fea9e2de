import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { ownPackages } from '../scripts/own-packages.ts'

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

describe.each(Object.values(ownPackages))('the packages of %s', (own) => {
  const read = (file: string): string => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')

  it('are updated by Dependabot', () => {
    const { updates } = parse(read('.github/dependabot.yml')) as {
      updates: { 'package-ecosystem': string; directory: string }[]
    }
    expect(updates).toContainEqual(expect.objectContaining({ 'package-ecosystem': 'npm', directory: `/${own}` }))
  })

  it('are installed without a report of npm, and without scripts but for PostgreSQL, which unpacks itself', () => {
    const settings = read(`${own}/.npmrc`).split('\n')
    const scripts = own === ownPackages.tests ? [] : ['ignore-scripts=true']
    expect(settings).toEqual(expect.arrayContaining(['audit=false', 'fund=false', ...scripts]))
  })
})

describe('the workflow release.yml', () => {
  interface Step {
    name?: string
    run?: string
  }
  const { jobs } = parse(readFileSync(new URL('release.yml', folder), 'utf8')) as {
    jobs: { publish: { steps: Step[] } }
  }
  const check = jobs.publish.steps.find(({ name }) => name?.startsWith('The tag names the version'))?.run ?? 'false'

  it.each([
    ['of both packages with a dated section', { section: '## [1.2.3] - 2027-01-31' }, 0],
    ['whose section has no date', { section: '## [1.2.3]' }, 1],
    ['that is only like a section', { section: '## [1x2.3] - 2027-01-31' }, 1],
    ['of one package', { section: '## [1.2.3] - 2027-01-31', service: '1.2.2' }, 1],
  ])(
    'the check of a tag %s ends with exit code %j',
    (_, { section, service = '1.2.3' }: { section: string; service?: string }, code) => {
      const cwd = mkdtempSync(join(tmpdir(), 'agent-auth-release-'))
      mkdirSync(join(cwd, 'service'))
      writeFileSync(join(cwd, 'package.json'), '{ "version": "1.2.3" }')
      writeFileSync(join(cwd, 'service/package.json'), JSON.stringify({ version: service }))
      writeFileSync(join(cwd, 'CHANGELOG.md'), `# Changelog\n\n## [Unreleased]\n\n${section}\n`)
      const env = { ...process.env, GITHUB_REF_NAME: 'v1.2.3' }
      const { status } = spawnSync('bash', ['-e', '-c', check], { cwd, env, stdio: 'ignore' })
      rmSync(cwd, { recursive: true })
      expect(status).toBe(code)
    },
  )
})
