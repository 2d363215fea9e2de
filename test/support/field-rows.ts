import { readFileSync } from 'node:fs'
import { allRows } from '../../scripts/requirements-page.ts'
import type { Title } from './titles.ts'

/** A failure of other clients that this one cannot have. */
export interface NotOurs {
  readonly failure: string
  readonly reason: string
}

const root = new URL('../../', import.meta.url)

export function isFieldRow(id: string): boolean {
  return /^F\d{3}$/.test(id)
}

/** The failures of the field that concern this project, by their ids. */
export function fieldRows(): string[] {
  return Object.keys(allRows()).filter(isFieldRow).sort()
}

export function notOurs(): Record<string, NotOurs> {
  return JSON.parse(readFileSync(new URL('test/field/not-ours.json', root), 'utf8'))
}

/** The tests among these titles that name a failure of the field, also those of modules that tests share. */
export function fieldTitles(titles: readonly Title[]): Title[] {
  return titles.filter(({ ids, isTest, file }) => {
    return isTest && ids.some(isFieldRow) && /\.test\.tsx?$|^test\/support\//.test(file)
  })
}

/** The test files among `all` that run these titles: a module that tests share runs in those that import it. */
export function filesOf(titles: readonly Title[], all: readonly Title[]): string[] {
  const named = new Set(titles.map(({ file }) => file))
  const shared = [...named].filter((file) => !file.includes('.test.'))
  const isRunning = (file: string): boolean => {
    const text = readFileSync(new URL(file, root), 'utf8')
    return shared.some((module) => text.includes(`../support/${module.split('/').at(-1)}'`))
  }
  const files = new Set(all.map(({ file }) => file).filter((file) => file.includes('.test.')))
  return [...files].filter((file) => named.has(file) || isRunning(file))
}
