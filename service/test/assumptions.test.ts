import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test } from 'vitest'

const service = fileURLToPath(new URL('..', import.meta.url))

interface Row {
  id: string
  text: string
  files: string[]
}

let rows: Row[]
let sources: Map<string, string>
beforeAll(async () => {
  const text = await readFile(join(service, 'ASSUMPTIONS.md'), 'utf8')
  rows = text.split('\n').flatMap((line) => {
    const id = /^\| (A-\d\d) \|/.exec(line)?.[1]
    const files = [...line.matchAll(/`([a-z-]+(?:\/[a-z0-9-]+)*\.tsx?)`/g)].map(([, file = '']) => file)
    return id === undefined ? [] : [{ id, text: line, files }]
  })
  const files = (await readdir(join(service, 'src'), { recursive: true })).filter((file) => /\.tsx?$/.test(file))
  sources = new Map(
    await Promise.all(files.map(async (file) => [file, await readFile(join(service, 'src', file), 'utf8')] as const)),
  )
})

test('every assumption is cited by the code it names, and the code cites no other', () => {
  expect(rows.length).toBeGreaterThan(20)
  const cited = new Set<string>()
  for (const [file, source] of sources) {
    for (const [id] of source.matchAll(/\bA-\d\d\b/g)) {
      cited.add(id)
      expect(rows.find((row) => row.id === id)?.files, `${file} cites ${id}`).toContain(file)
    }
  }
  expect([...cited].sort()).toEqual(rows.map(({ id }) => id).sort())
})

/** What no caller can see, and numbers that are not ours. */
const internal = [
  'cli/options-help.ts flagColumns',
  'cli/options-help.ts lineColumns',
  'limits.ts serverLimits.preflightMs',
  'limits.ts serverLimits.purgePauseMs',
  'limits.ts serverLimits.journalBlock',
  'limits.ts credentialLimits.sweptKeys',
  'store/engine/failures.ts busySnapshot',
  'store/migrations/006-names-as-sent.ts mostAtOnce',
  'store/engine/split-rows.ts mostAtOnce',
  'store/engine/postgres.ts int8',
  'store/engine/private-file.ts othersBits',
  'store/engine/private-file.ts ownerOnly',
  ...['connections', 'connectMs', 'lockWaitMs', 'statementMs', 'idleTransactionMs', 'transactionAttempts']
    .concat(['preparedStatements', 'symbolicLinks', 'purgedRows', 'purgeStatements', 'deletedRequests'])
    .map((name) => `limits.ts storeLimits.${name}`),
  'limits.ts toolLimits.devBodyDepth',
  'cli/options-help.ts flagColumns',
  'cli/options-help.ts lineColumns',
]
const isUnit = (name: string): boolean => /^(second|minute|quarterHour|hour|day)Ms$|^yearS$|^mebibyte$/.test(name)

interface Limit {
  file: string
  name: string
  value: number
  ids: string[]
}

/** Every number that has a name, with the assumptions that are cited above it or above the lines it stands in. */
function limits(): Limit[] {
  return [...sources].flatMap(([file, source]) => {
    let ids: string[] = []
    let group = ''
    return source.split('\n').flatMap((line) => {
      group = /^export const (\w+) = \{$/.exec(line)?.[1] ?? (line.startsWith('}') ? '' : group)
      const [, constant, expression = ''] = /^(?:export )?const (\w+)(?:: number)? = ([\d_ *+()-]+)$/.exec(line) ?? []
      const [, member, literal = ''] = (group === '' ? undefined : /^ {2}(\w+): ([\d_]+),$/.exec(line)) ?? []
      const isComment = /^ *(?:\/\/|\/\*\*| \*)/.test(line)
      if (isComment) ids = line.match(/\bA-\d\d\b/g) ?? (/^ +\*/.test(line) ? ids : [])
      else if (!/^(?:export )?const /.test(line) && member === undefined) ids = []
      if (member !== undefined) return [{ file, name: `${group}.${member}`, value: numberOf(literal), ids }]
      if (constant === undefined || isUnit(constant)) return []
      return [{ file, name: constant, value: numberOf(expression), ids }]
    })
  })
}

/** A product or a power of whole numbers, less one or not. */
function numberOf(expression: string): number {
  const [product = '', less = '0'] = expression.replaceAll('_', '').split(' - ')
  const factors = product.split(' * ').map((factor) => factor.split(' ** ').map(Number))
  return factors.reduce((all, [base = 0, power = 1]) => all * base ** power, 1) - Number(less)
}

/** How a row may write a number: as it is, or in a unit that makes it smaller. */
function writings(value: number): string[] {
  const units = {
    KiB: 1_024,
    MiB: 1_024 * 1_024,
    s: 1_000,
    seconds: 1_000,
    minutes: 60_000,
    hours: 3_600_000,
    days: 86_400_000,
  }
  const inUnits = Object.entries(units).map(([unit, size]) => `${value / size} ${unit}`)
  return [
    value.toLocaleString('en-US'),
    ...inUnits,
    ...(value % 1_000 === 0 ? [`\`Retry-After: ${value / 1_000}\``] : []),
  ]
}

test('every limit of the code cites the assumption that states its value', () => {
  const all = limits().filter(({ file, name }) => !internal.includes(`${file} ${name}`))
  expect(all.length).toBeGreaterThan(35)
  const unstated = all.filter(({ value, ids }) => {
    const texts = ids.map((id) => rows.find((row) => row.id === id)?.text ?? '')
    const isNumber = (text: string, number: string): boolean =>
      new RegExp(`(?<![\\d,.])${number.replace(/[.$`]/g, '\\$&')}(?![\\d,]\\d)`).test(text)
    return !texts.some((text) => writings(value).some((number) => isNumber(text, number)))
  })
  expect(unstated).toEqual([])
})

const namesIn = (files: RegExp, pattern: RegExp): string[] => {
  const matching = [...sources].filter(([file]) => files.test(file))
  return matching.flatMap(([, source]) =>
    [...source.matchAll(pattern)].map((match) => match.slice(1).find(Boolean) ?? ''),
  )
}

test.each([
  ['A-13', 'error_type', /^api\/envelope\.ts$/, /^ {2}\| '(\w+)'$/gm],
  ['A-16', 'type', /^api\/.*\.ts$/, /params: \{ type: '(\w+)' \}|\bfault\([^\n]*'(\w+)'\)|\bmsg, type: '(\w+)'/g],
  ['A-16', 'type', /^api\/validation\.ts$/, /(?:return|\?) '(\w+)'|' : '(\w+)'/g],
])('%s lists every %s that the code responds with (%#)', (id, _, files, pattern) => {
  const text = rows.find((row) => row.id === id)?.text ?? ''
  const names = [...new Set(namesIn(files, pattern))]
  expect(names.length).toBeGreaterThan(4)
  expect(names.filter((name) => !text.includes(`\`${name}\``))).toEqual([])
})
