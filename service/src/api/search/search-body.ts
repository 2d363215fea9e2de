import * as z from 'zod'
import { apiLimits } from '../../limits.ts'
import type { Filter, Search, SortKey } from '../../store/tables/tenant/checked-search.ts'
import { bounded, storableText } from '../text.ts'
import type { ColumnTypes, Parsed } from './filters.ts'
import { parseFilters } from './filters.ts'
import { parseSort } from './sort.ts'

/** The checked body of a search. `own` is the member that only this search has. */
export interface SearchBody<Column extends string, Own> {
  search: Search<Column>
  own: Own | undefined
}

/**
 * Returns the schema of a search: what both searches share, and one filter of its own. Optional members may be null (A-07, A-22,
 * There is no cursor: `limit` is 1 to `pageRows`, 250 (default: `defaultPageRows`, 100), and `offset` counts from 0
 * (default) to `apiLimits.offset`, 2,147,483,647. A member out of range, and a column or group that filters.ts or sort.ts refuses,
 * is a 422 (`validate` in api/validation.ts). A member with an unknown name is ignored.
 */
export function searchBody<Column extends string, Own>(
  columns: ColumnTypes<Column>,
  { name, schema }: { name: string; schema: z.ZodType<Own> },
): z.ZodType<SearchBody<Column, Own>> {
  const shape = {
    limit: wholeNumber(1, apiLimits.pageRows).default(apiLimits.defaultPageRows),
    offset: wholeNumber(0, apiLimits.offset).default(0),
    search_value: searchText().nullish(),
    filters: filterList(columns),
    sort: sortKeys(columns),
  }
  return z.object({ ...shape, [name]: schema.nullish() }).transform((body) => ({
    search: {
      limit: body.limit,
      offset: body.offset,
      // An empty text means no filter.
      searchValue: body.search_value || undefined,
      filter: body.filters,
      sort: body.sort,
    },
    own: ((body as Record<string, unknown>)[name] ?? undefined) as Own | undefined,
  }))
}

/** Returns the schema of a number. The bounds end the check, so that a number far out of range gets one item only. */
function wholeNumber(least: number, most: number): z.ZodNumber {
  return z.number().min(least, { abort: true }).max(most, { abort: true }).int()
}

/**
 * Returns the schema of `search_value` (`searchCharacters`, 256): text that one of the searched fields holds, in upper or lower
 * case. It has no wildcards.
 */
function searchText(): z.ZodType<string> {
  return bounded(storableText(), apiLimits.searchCharacters).meta({
    maxLength: apiLimits.searchCharacters,
    description: 'Literal text, in upper or lower case',
  })
}

function filterList<Column extends string>(columns: ColumnTypes<Column>): z.ZodType<Filter<Column>> {
  return z
    .array(z.unknown())
    .meta(describeFilters(columns))
    .nullish()
    .transform((items, context) => reported(parseFilters(items ?? [], columns), context))
}

function sortKeys<Column extends string>(columns: ColumnTypes<Column>): z.ZodType<SortKey<Column>[]> {
  return z
    .unknown()
    .meta(describeSort(columns))
    .optional()
    .transform((sort, context) => reported(parseSort(sort ?? [], columns), context))
}

function reported<Value>({ value, faults }: Parsed<Value>, context: z.core.$RefinementCtx): Value {
  for (const { path, message, type } of faults) {
    context.addIssue({ code: 'custom', path, message, params: { type } })
  }
  return value
}

type Description = Record<string, unknown>

const jsonTypes = { integer: 'integer', text: 'string', boolean: 'boolean' } as const

/** `filters` and `sort` have their own parsers. The OpenAPI document states what they accept. */
function describeFilters(columns: ColumnTypes<string>): Description {
  const types = new Set(Object.values(columns).map((type) => jsonTypes[type]))
  const filter = object({
    column: { enum: Object.keys(columns) },
    operator: { const: 'equals' },
    value: { type: [...types] },
  })
  const group = object({
    operator: { enum: ['and', 'or'] },
    filters: {
      type: 'array',
      items: { type: 'object' },
      description: `Filters and groups, at most ${apiLimits.filterDepth} deep`,
    },
  })
  return { items: { anyOf: [filter, group] }, description: 'An item must fit all of them' }
}

function describeSort(columns: ColumnTypes<string>): Description {
  const desc = { type: 'boolean', default: false, description: 'True is descending' }
  const key = { ...object({ column: { enum: Object.keys(columns) }, desc }), required: ['column'] }
  return { anyOf: [key, { type: 'array', items: key, maxItems: apiLimits.sortColumns }] }
}

function object(properties: Record<string, Description>): Description {
  return { type: 'object', properties, required: Object.keys(properties) }
}
