/** A search whose columns were checked against an allow-list. */
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

/**
 * Lets other requests run. It may resolve at once if the call has used little processor time since its last pause (`pauseAfterSlice` in
 * api/tenant-turns.ts).
 */
export type Pause = () => Promise<void>

/** Separates fields. No search finds it, because `foldCase` replaces each line break of a field and of a search value by `lineBreak`. */
export const betweenFields = '\n'
/**
 * Stands for a line break in folded text. `foldCase` makes all letters small before it writes this capital letter, so no letter of the text
 * becomes it.
 */
const lineBreak = '\u00c0'

/**
 * Returns the search text of a row, in which a search looks for its value. It is folded here, because databases fold letters differently
 * . A migration calls it, so a change needs a new migration that writes all rows again. That migration must also
 * clear the index of trigrams and set `has_trigrams` to 0, because the index comes from this text (`trigramsOf`).
 */
export function searchTextOf(fields: string[]): string {
  return fields.map(foldCase).join(betweenFields)
}

/**
 * Folds a text to lower case in NFC. `toLowerCase` writes Σ as ς at the end of a word, and as σ elsewhere. A search value can end in the
 * middle of a word of a text, so both become σ.
 */
export function foldCase(text: string): string {
  return text.toLowerCase().normalize('NFC').replaceAll('ς', 'σ').replaceAll('\n', lineBreak)
}
