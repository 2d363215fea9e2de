import * as z from 'zod'
import type { Filter, Search, SortKey } from '../store/tables/search.ts'
import type { ColumnTypes, Parsed } from './filters.ts'
import { parseFilters } from './filters.ts'
import { describeFilters, describeSort } from './search-description.ts'
import { mostKeys, parseSort } from './sort.ts'
import { bounded, storableText } from './text.ts'

/** The checked body of a search; `own` is the one member that only this search has. */
export interface SearchBody<Column extends string, Own> {
  search: Search<Column>
  own: Own | undefined
}

//
const defaultLimit = 100
const mostLimit = 250
const mostOffset = 2 ** 31 - 1
const longestSearch = 256

/** The body both searches share, and one filter of their own. Optional members may be null. */
export function searchBody<Column extends string, Own>(
  columns: ColumnTypes<Column>,
  { name, schema }: { name: string; schema: z.ZodType<Own> },
): z.ZodType<SearchBody<Column, Own>> {
  const shape = {
    limit: wholeNumber(1, mostLimit).default(defaultLimit),
    offset: wholeNumber(0, mostOffset).default(0),
    search_value: searchText().nullish(),
    filters: filterList(columns),
    sort: sortKeys(columns),
  }
  return z.object({ ...shape, [name]: schema.nullish() }).transform((body) => ({
    search: {
      limit: body.limit,
      offset: body.offset,
      // An empty text filters nothing.
      searchValue: body.search_value || undefined,
      filter: body.filters,
      sort: body.sort,
    },
    own: ((body as Record<string, unknown>)[name] ?? undefined) as Own | undefined,
  }))
}

/** The bounds come first and end the check, so that a number far out of range is told them alone. */
function wholeNumber(least: number, most: number): z.ZodNumber {
  return z.number().min(least, { abort: true }).max(most, { abort: true }).int()
}

function searchText(): z.ZodType<string> {
  return bounded(storableText(), longestSearch).meta({
    maxLength: longestSearch,
    description: 'Literal text, upper and lower case alike',
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
    .meta(describeSort(columns, mostKeys))
    .optional()
    .transform((sort, context) => reported(parseSort(sort ?? [], columns), context))
}

function reported<Value>({ value, faults }: Parsed<Value>, context: z.core.$RefinementCtx): Value {
  for (const { path, message, type } of faults) {
    context.addIssue({ code: 'custom', path, message, params: { type } })
  }
  return value
}
