import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { clientsPath } from '../src/clients/clients-app.ts'
import { createServiceConfig } from '../src/config.ts'

const service = fileURLToPath(new URL('../', import.meta.url))
const readme = readFileSync(`${service}README.md`, 'utf8')

/** The specification's sections, in its order. */
const sections = [
  ...['1', '2', '2.1', '2.2', '2.3', '2.4', '2.5', '2.6', '2.7', '3', '4', '4.1', '4.2', '4.3', '4.4'],
  ...['5', '5.1', '5.2', '6', '7', '8', '9'],
]

interface Row {
  section: string
  files: string[]
  tests: string[]
}

const rows: Row[] = [...readme.matchAll(/^\| (\d(?:\.\d)?) \|[^|]*\|([^|]*)\|([^|]*)\|$/gm)].map(
  ([, section = '', files = '', tests = '']) => ({ section, files: named(files), tests: named(tests) }),
)

function named(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path)
}

test('the table maps each section of the specification to its files and tests, which exist', () => {
  expect(rows.map(({ section }) => section)).toEqual(sections)
  const empty = rows.filter(({ files, tests }) => files.length === 0 || tests.length === 0)
  // The specification shows no events.
  expect(empty.map(({ section }) => section)).toEqual(['6'])
  const missing = rows.flatMap(({ files, tests }) => [...files, ...tests]).filter((path) => !existsSync(service + path))
  expect(missing).toEqual([])
  for (const { files, tests } of rows) {
    expect(files.every((path) => path.startsWith('src/'))).toBe(true)
    expect(tests.every((path) => /^test\/.*\.test\.tsx?$/.test(path))).toBe(true)
  }
})

test('every picture and page that the README shows is there, each in light and dark, with words for it', () => {
  const pictures = [
    ...readme.matchAll(/srcset="([^"]+)-dark\.png"><img src="([^"]+)-light\.png"[^>]* alt="([^"]{10,})"/g),
  ]
  expect(pictures.map(([, dark, light]) => [dark, light])).toEqual(
    ['sign-in', 'consent', 'clients', 'dev', 'login'].map((name) => Array(2).fill(`../docs/screenshots/${name}`)),
  )
  for (const [, dark, light] of pictures)
    for (const file of [`${dark}-dark.png`, `${light}-light.png`]) {
      expect(existsSync(service + file), file).toBe(true)
    }
  const links = [...readme.matchAll(/\]\(([^)#]+)\)/g)].map(([, path = '']) => path)
  expect(links.filter((path) => !existsSync(service + path))).toEqual([])
})

test('the options table names every option of the configuration, and the endpoints are those served', () => {
  const options = Object.keys(createServiceConfig({}))
  expect(options.length).toBeGreaterThan(8)
  expect(options.filter((name) => !readme.includes(`\`${name}\``))).toEqual([])
  for (const path of [clientsPath, '/auth/v1/authorize', '/auth/v1/token', '/_dev']) expect(readme).toContain(path)
})
