import * as z from 'zod'
import { apiLimits } from '../../limits.ts'
import type { Filter, Search, SortKey } from '../../store/tables/tenant/search.ts'
import { bounded, comparedText, storableText } from '../text.ts'

/** The columns that a search may filter and sort by, and the types of their values. */
export type ColumnTypes<Column extends string> = Readonly<Record<Column, 'integer' | 'text' | 'boolean'>>

/**
 * Returns the schema of a search: what both searches share, and one filter of its own, by a column. Optional members may be null. There is
 * no cursor: `offset` counts rows. A member with an unknown name is ignored.
 */
export function searchBody<Column extends string>(
  columns: ColumnTypes<Column>,
  own: Column,
): z.ZodType<Search<Column>> {
  const shape = {
    limit: wholeNumber(1, apiLimits.pageRows).default(apiLimits.defaultPageRows),
    offset: wholeNumber(0, apiLimits.offset).default(0),
    search_value: searchText().nullish(),
    filters: filterList(columns),
    sort: sortKeys(columns),
  }
  return z.object({ ...shape, [own]: columnValue(columns[own]).nullish() }).transform((body): Search<Column> => {
    const value = (body as Record<string, unknown>)[own] as string | number | null | undefined
    const filters = value === null || value === undefined ? [] : [{ kind: 'equals' as const, column: own, value }]
    return {
      limit: body.limit,
      offset: body.offset,
      // An empty text means no filter.
      searchValue: body.search_value || undefined,
      filter: { kind: 'all', filters: [...body.filters, ...filters] },
      sort: body.sort,
    }
  })
}

/** Returns the schema of a number. The bounds end the check, so that a number far out of range gets one item only. */
function wholeNumber(least: number, most: number): z.ZodNumber {
  return z.number().min(least, { abort: true }).max(most, { abort: true }).int()
}

/** Returns the schema of text that one of the searched fields holds, in upper or lower case. It has no wildcards. */
function searchText(): z.ZodType<string, string> {
  return bounded(storableText(), apiLimits.searchCharacters).meta({
    description: 'Literal text, in upper or lower case',
  })
}

/** Returns the schema of a value that a column is compared with. Columns hold names and keys in NFC, and flags as numbers. */
function columnValue(type: 'integer' | 'text' | 'boolean'): z.ZodType<string | number> {
  if (type === 'integer') return z.int()
  if (type === 'boolean') return z.boolean().transform(Number)
  return comparedText().transform((text) => text.normalize('NFC'))
}

/** Returns the schema of comparisons and groups of them, all of which must hold. */
function filterList<Column extends string>(columns: ColumnTypes<Column>): z.ZodType<Filter<Column>[]> {
  return z
    .array(filterItem(columns, apiLimits.filterDepth))
    .nullish()
    .transform((items, context) => {
      const filters = items ?? []
      if (nodesOf({ kind: 'all', filters }) > apiLimits.filterNodes + 1) {
        const message = `at most ${apiLimits.filterNodes} filters`
        context.addIssue({ code: 'custom', message, params: { type: 'too_many' } })
      }
      return filters
    })
}

/** Returns the schema of a comparison, or of a group of items one level deeper. */
function filterItem<Column extends string>(columns: ColumnTypes<Column>, levels: number): z.ZodType<Filter<Column>> {
  const comparison = z.discriminatedUnion('column', comparisonsOf(columns))
  const equals = comparison.transform(({ column, value }): Filter<Column> => ({ kind: 'equals', column, value }))
  if (levels === 1) return equals
  const group = z.object({ operator: z.enum(['and', 'or']), filters: z.array(filterItem(columns, levels - 1)) })
  return z
    .discriminatedUnion('operator', [comparison, group])
    .transform(
      (item): Filter<Column> =>
        'filters' in item
          ? { kind: item.operator === 'and' ? 'all' : 'any', filters: item.filters }
          : { kind: 'equals', column: item.column, value: item.value },
    )
}

type Comparison<Column extends string> = z.ZodObject<{
  column: z.ZodLiteral<Column>
  operator: z.ZodLiteral<'equals'>
  value: z.ZodType<string | number>
}>

function comparisonsOf<Column extends string>(columns: ColumnTypes<Column>): [Comparison<Column>] {
  const names = Object.keys(columns) as Column[]
  return names.map((column) =>
    z.object({ column: z.literal(column), operator: z.literal('equals'), value: columnValue(columns[column]) }),
  ) as [Comparison<Column>]
}

function nodesOf(filter: Filter<string>): number {
  return filter.kind === 'equals' ? 1 : filter.filters.reduce((sum, part) => sum + nodesOf(part), 1)
}

/** Returns the schema of one key or a list of them. */
function sortKeys<Column extends string>(columns: ColumnTypes<Column>): z.ZodType<SortKey<Column>[]> {
  const key = z
    .object({ column: z.enum(Object.keys(columns) as Column[]), desc: z.boolean().nullish() })
    .transform(({ column, desc }): SortKey<Column> => ({ column: column as Column, direction: desc ? 'desc' : 'asc' }))
  return z
    .union([key, z.array(key).max(apiLimits.sortColumns)])
    .nullish()
    .transform((keys) => (Array.isArray(keys) ? keys : keys ? [keys] : []))
}
