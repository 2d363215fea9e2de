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

/** What separates fields, which no search finds: a line break of a field is another sign. */
const betweenFields = '\n'
/** Upper case, so that it stands for nothing else in lower-case text; not ASCII, of which SQLite ignores the case. */
const lineBreak = '\u00c0'

/** The text of a row that a search looks into, in one case so that every database compares alike. */
export function searchTextOf(fields: string[]): string {
  return fields.map(foldCase).join(betweenFields)
}

/** NFC in lower case; the sigma that ends a word is like any other, because a search may end where the word does not. */
export function foldCase(text: string): string {
  return text.toLowerCase().normalize('NFC').replaceAll('ς', 'σ').replaceAll('\n', lineBreak)
}
