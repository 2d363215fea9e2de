// Also tests service/src/api/search/sort.ts.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { leastMs } from '../../../test/support/least-ms.ts'
import { runs } from '../../../test/support/runs.ts'
import { parseFilters } from '../../src/api/search/filters.ts'
import { parseSort } from '../../src/api/search/sort.ts'
import type { Filter } from '../../src/store/tables/tenant/checked-search.ts'

const { numRuns, options } = runs(1_000, 1_000_000)
const columns = { id: 'integer', name: 'text', active: 'boolean' } as const
type Column = keyof typeof columns

/** What was sent, and what it means; undefined when it is not allowed. */
interface Sent {
  readonly sent: unknown
  readonly means: Filter<Column> | undefined
}

const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 6 }),
  fc.constantFrom("' or 1=1 --", '%', '__proto__', ''),
)
const good = fc
  .oneof(
    fc.tuple(fc.constant('id' as const), fc.maxSafeInteger()),
    fc.tuple(fc.constant('name' as const), text),
    fc.tuple(fc.constant('active' as const), fc.boolean()),
  )
  .map(([column, value]): Sent => {
    const stored =
      typeof value === 'boolean' ? Number(value) : typeof value === 'string' ? value.normalize('NFC') : value
    return { sent: { column, operator: 'equals', value }, means: { kind: 'equals', column, value: stored } }
  })
const bad = fc
  .constantFrom<unknown>(
    ...[null, 1, 'id', [], {}, { column: 'id' }, { column: 'id', operator: 'equals' }],
    ...[{ operator: 'and', filters: {} }, { operator: 'not', filters: [] }, { filters: [] }],
    { column: 'id', operator: 'gt', value: 1 },
    ...['__proto__', 'constructor', 'tenant_id', 'ID', ' id', 'id;', ['id'], null].map((column) => {
      return { column, operator: 'equals', value: 1 }
    }),
    ...[1.5, 2 ** 53, Number.NaN, '1', true, null, [1]].map((value) => ({ column: 'id', operator: 'equals', value })),
    ...[1, true, null, ['x'], 'a\0', '\ud800'].map((value) => ({ column: 'name', operator: 'equals', value })),
    ...[0, 1, 'true', null].map((value) => ({ column: 'active', operator: 'equals', value })),
  )
  .map((sent): Sent => ({ sent, means: undefined }))

function group(isAll: boolean, items: readonly Sent[]): Sent {
  const means = items.map((item) => item.means)
  const sent = { operator: isAll ? 'and' : 'or', filters: items.map((item) => item.sent) }
  const isMeant = (filter: Filter<Column> | undefined) => filter !== undefined
  return { sent, means: means.every(isMeant) ? { kind: isAll ? 'all' : 'any', filters: means } : undefined }
}

const { tree } = fc.letrec<{ tree: Sent }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4, depthSize: 'medium' },
    { weight: 8, arbitrary: good },
    { weight: 1, arbitrary: bad },
    {
      weight: 5,
      arbitrary: fc.tuple(fc.boolean(), fc.array(tie('tree'), { maxLength: 8 })).map((all) => group(...all)),
    },
  ),
}))

const isGroup = (sent: unknown): sent is { filters: unknown[] } =>
  typeof sent === 'object' && sent !== null && Array.isArray((sent as { filters?: unknown }).filters)
const nodes = (sent: unknown): number =>
  1 + (isGroup(sent) ? sent.filters.reduce<number>((sum, one) => sum + nodes(one), 0) : 0)
const depth = (sent: unknown): number => 1 + (isGroup(sent) ? Math.max(0, ...sent.filters.map(depth)) : 0)

test('a tree of filters is what it means, or has a fault; 50 nodes and three levels, no more', options, () => {
  const nearTheLimit = fc.array(good, { minLength: 48, maxLength: 52 })
  const lists = fc.oneof({ weight: 9, arbitrary: fc.array(tree, { maxLength: 8 }) }, nearTheLimit)
  fc.assert(
    fc.property(lists, (items) => {
      const sent = items.map((item) => item.sent)
      const { means } = group(true, items)
      const fits = sent.reduce<number>((sum, one) => sum + nodes(one), 0) <= 50 && sent.every((one) => depth(one) <= 3)
      const { value, faults } = parseFilters(sent, columns)
      expect(faults.length === 0).toBe(means !== undefined && fits)
      if (faults.length === 0) expect(value).toEqual(means)
      // Faults point at what was sent, or at a member that is missing there.
      for (const { path } of faults) {
        const parent = path
          .slice(0, -1)
          .reduce<unknown>((place, step) => (place as Record<string, unknown>)[step], sent)
        expect(parent).toEqual(expect.any(Object))
      }
      expect(faults.length).toBeLessThanOrEqual(50 + 1)
    }),
    { numRuns },
  )
})

/** Only own names of the list, and values of their type, ever come out. */
function expectOnlyKnown(filter: Filter<Column>, level = 0): number {
  if (filter.kind !== 'equals') {
    expect(level).toBeLessThanOrEqual(3)
    return filter.filters.reduce((sum, one) => sum + expectOnlyKnown(one, level + 1), 0)
  }
  expect(Object.keys(columns)).toContain(filter.column)
  const type = columns[filter.column]
  expect(type === 'text' ? typeof filter.value : Number.isSafeInteger(filter.value)).toBe(
    type === 'text' ? 'string' : true,
  )
  return 1
}

test('any JSON as filters or sort: only known columns come out, and nothing is thrown', options, () => {
  const names = fc.constantFrom('column', 'operator', 'value', 'filters', 'desc', '__proto__', 'constructor')
  const words = fc.constantFrom<unknown>(
    'id',
    'name',
    'active',
    'equals',
    'and',
    'or',
    'toString',
    '__proto__',
    1,
    true,
    null,
  )
  const { any } = fc.letrec<{ any: unknown }>((tie) => ({
    any: fc.oneof(
      { maxDepth: 5 },
      words,
      fc.jsonValue({ maxDepth: 1 }),
      fc.array(tie('any'), { maxLength: 5 }),
      fc.dictionary(names, tie('any'), { maxKeys: 4 }),
    ),
  }))
  const key = fc.record({ column: fc.constantFrom('id', 'name'), desc: fc.boolean() })
  const sortKeys = fc.array(key, { minLength: 9, maxLength: 12 })
  fc.assert(
    fc.property(fc.array(any, { maxLength: 5 }), fc.oneof(any, sortKeys), (filters, sort) => {
      expect(expectOnlyKnown(parseFilters(filters, columns).value)).toBeLessThanOrEqual(50)
      const { value, faults } = parseSort(sort, columns)
      expect(value.length).toBeLessThanOrEqual(10)
      for (const { column, direction } of value)
        expect({
          isColumn: Object.keys(columns).includes(column),
          isDirection: /^(asc|desc)$/.test(direction),
        }).toEqual({ isColumn: true, isDirection: true })
      const listed = Array.isArray(sort) ? sort : [sort]
      if (faults.length === 0) expect(value.map(({ column }) => column)).toEqual(listed.map((key) => key.column))
    }),
    { numRuns },
  )
})

test('the widest and the deepest list that fit a body take less than 50 ms', async () => {
  const wide = Array.from({ length: 30_000 }, () => ({ filters: 1 }))
  let deep: unknown[] = []
  for (let level = 0; level < 30; level += 1) deep = [{ operator: 'and', filters: deep }]
  const inner = Array.from({ length: 30_000 }, () => ({ operator: 'or', filters: wide.slice(0, 3) }))
  for (const list of [wide, deep, inner, [{ operator: 'and', filters: wide }]]) {
    expect(parseFilters(list, columns).faults.length).toBeGreaterThan(0)
    expect(await leastMs(() => parseFilters(list, columns))).toBeLessThan(50)
    expect(await leastMs(() => parseSort(list, columns))).toBeLessThan(50)
  }
})
