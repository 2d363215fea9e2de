import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ownPackages } from '../scripts/own-packages.ts'

interface Locked {
  version?: string
  integrity?: string
  resolved?: string
  link?: boolean
  optionalDependencies?: Record<string, string>
}

/** How many packages a folder has at least, if it is more than ten. */
const leastCounts: Readonly<Record<string, number>> = { '.': 300, site: 100 }

const folders = ['.', ...Object.values(ownPackages)]

describe.each(folders)('the lock file of %s', (folder) => {
  const file = `${folder}/package-lock.json`
  const text = readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')
  const packages = Object.entries((JSON.parse(text) as { packages: Record<string, Locked> }).packages)
  const installed = packages.filter(([path, { link }]) => path.includes('node_modules/') && !link)

  it('names no host that packages come from, so that every registry will do', () => {
    expect(packages.filter(([, { resolved = '' }]) => resolved.includes(':')).map(([path]) => path)).toEqual([])
  })

  it('says what the bytes of every package are', () => {
    expect(installed.length).toBeGreaterThan(leastCounts[folder] ?? 10)
    expect(installed.filter(([, { integrity }]) => !integrity?.startsWith('sha512-')).map(([path]) => path)).toEqual([])
  })

  it('holds what each platform needs, whichever it was written on', () => {
    const names = new Set(installed.map(([path]) => path.split('node_modules/').at(-1)))
    const optional = installed.flatMap(([, { optionalDependencies = {} }]) => Object.keys(optionalDependencies))
    expect(optional.filter((name) => !names.has(name))).toEqual([])
  })
})
