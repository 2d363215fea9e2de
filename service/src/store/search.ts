/** A search as the stores understand it; columns were checked against an allow-list before. */
export interface Search<Column extends string> {
  limit: number
  offset: number
  searchValue: string | undefined
  filter: Filter<Column>
  sort: SortKey<Column>[]
}

export type Filter<Column extends string> =
  | { kind: 'equals'; column: Column; value: string | number }
  | { kind: 'all' | 'any'; filters: Filter<Column>[] }

export interface SortKey<Column extends string> {
  column: Column
  direction: 'asc' | 'desc'
}

export interface Found<Row> {
  rows: Row[]
  count: number
}

/** The text of a row that a search looks into, in lower case so that every database compares alike (A-23). */
export function searchTextOf(fields: string[]): string {
  return fields.join('\n').toLowerCase()
}

/** A LIKE pattern in which the text stands for itself (S-069); goes with ESCAPE '\'. */
export function containsPattern(text: string): string {
  return `%${text.toLowerCase().replace(/[\\%_]/g, (character) => `\\${character}`)}%`
}
