import * as z from 'zod'
import { apiLimits, limits } from '../limits.ts'
import { hasInvisible, isStorable } from '../store/database.ts'
import type { Filter, Search, SortKey, TenantStore } from '../store/tenant.ts'
import { ValidationError, type ValidationItem } from './envelope.ts'

export function storableText(): z.ZodType<string, string> {
  return z.string().refine((text) => isStorable(text), {
    message: 'text may not hold NUL or lone surrogates',
    params: { type: 'string_unstorable' },
  })
}

function filledText(): z.ZodType<string, string> {
  return z.string().min(1).pipe(storableText())
}

/**
 * Returns the schema of a description, which is bounded because searches read every one.
 */
export function descriptionText(): z.ZodType<string, string> {
  return bounded(filledText(), limits.descriptionCharacters)
}

/**
 * Returns the schema of a text that a search compares with names and keys. No longer one can be found.
 */
function comparedText(): z.ZodType<string, string> {
  return bounded(storableText(), limits.filterCharacters)
}

/** Bounds a text. It counts code points, so that an emoji is one character. Later checks skip a text that is longer. */
export function bounded(text: z.ZodType<string, string>, most: number): z.ZodType<string, string> {
  return text
    .refine((value) => !isLongerThan(value, most), {
      message: `at most ${most} characters`,
      params: { type: 'string_too_long' },
      // NFC sorts combining marks in quadratic time, so a body of them would take seconds.
      abort: true,
    })
    .meta({ maxLength: most })
}

/** Returns whether a text has more code points. */
function isLongerThan(text: string, most: number): boolean {
  return text.length > most && (text.length > 2 * most || [...text].length > most)
}

/**
 * Returns the schema of a name, as it was sent: bounded, and without invisible characters.
 */
export function nameText(): z.ZodType<string, string> {
  return filledText().pipe(visibleName()).meta({ maxLength: apiLimits.nameCharacters })
}

function visibleName(): z.ZodType<string, string> {
  return bounded(
    z.string().refine((text) => !hasInvisible(text), {
      message: 'text may not hold control, bidi or zero-width characters; ZWNJ and ZWJ may join letters or emoji',
      params: { type: 'string_invisible' },
    }),
    apiLimits.nameCharacters,
  )
}

/** What an endpoint gets of a call that may run. */
export interface ApiCall {
  /** The data of the tenant of the bearer token. */
  tenant: TenantStore
  /** The value of the JSON body. Absent for a GET. */
  body: unknown
  /** Returns a parameter of the path. */
  param(name: string): string | undefined
  nowMs: number
}

/** Checks a value against its schema. The 422 names the first faults. */
export function validate<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  place: 'body' | 'path',
): z.output<Schema> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw new ValidationError(
    result.error.issues
      .flatMap(meant)
      .slice(0, apiLimits.validationItems)
      .map((issue) => itemOf(issue, value, place)),
  )
}

/** Of a union whose options all fail, returns what is wrong with the option that was meant: the one that got furthest. */
function meant(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return [issue]
  const [best = []] = issue.errors.toSorted((one, other) => reach(other) - reach(one))
  return best.flatMap((inner) => meant({ ...inner, path: [...issue.path, ...inner.path] }))
}

function reach([first]: z.core.$ZodIssue[]): number {
  return (first?.path.length ?? 0) + (first?.code === 'invalid_type' ? 0 : 1)
}

/** Turns a zod issue into an item of the 422 body. The service chose the names of `type`. */
function itemOf(issue: z.core.$ZodIssue, value: unknown, place: 'body' | 'path'): ValidationItem {
  const path = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part))
  const input = valueAt(value, path)
  const base = { loc: [place, ...path], msg: issue.message }
  if (input === undefined && issue.code !== 'custom') return { ...base, msg: 'Field required', type: 'missing' }
  const ctx = contextOf(issue)
  const shown = input === undefined ? {} : { input: shorten(input) }
  return { ...base, type: typeOf(issue), ...shown, ...(ctx === undefined ? {} : { ctx }) }
}

function typeOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return /^(int|number)$/.test(issue.expected) ? 'integer_type' : `${issue.expected}_type`
    case 'too_small':
      return issue.origin === 'string' ? 'string_too_short' : 'greater_than_equal'
    case 'too_big':
      if (issue.origin === 'array') return 'too_many'
      return issue.origin === 'string' ? 'string_too_long' : 'less_than_equal'
    case 'invalid_value':
    case 'invalid_union':
      return 'enum'
    case 'custom':
      return typeof issue.params?.type === 'string' ? issue.params.type : 'value_error'
    default:
      return 'value_error'
  }
}

function contextOf(issue: z.core.$ZodIssue): Record<string, unknown> | undefined {
  if (issue.code === 'too_small')
    return issue.origin === 'string' ? { min_length: issue.minimum } : { ge: issue.minimum }
  if (issue.code === 'too_big') return issue.origin === 'string' ? { max_length: issue.maximum } : { le: issue.maximum }
  if (issue.code === 'invalid_value') return { expected: issue.values }
  return undefined
}

function valueAt(value: unknown, path: (string | number)[]): unknown {
  return path.reduce<unknown>((at, part) => {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, part)) return undefined
    return (at as Record<string | number, unknown>)[part]
  }, value)
}

/** Returns enough of the input to recognize it, and never a whole document. */
function shorten(input: unknown): unknown {
  if (typeof input === 'string') return input.slice(0, apiLimits.shownInput).replace(/\p{Cs}/gu, '\ufffd')
  if (typeof input !== 'object' || input === null) return input
  return Array.isArray(input) ? `array of ${input.length}` : 'object'
}

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
