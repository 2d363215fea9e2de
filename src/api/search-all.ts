import { abortedError } from '../internal/timeouts.ts'
import { invalid } from '../internal/values.ts'
import { AgentApiError } from './error.ts'
import type { Found } from './resources.ts'

/** All rows of a search, in pages that are requested while you iterate. */
export interface AllRows<Row> extends AsyncIterable<Row> {
  /** Resolves to the `count` of the first page. The first iteration then uses that page. */
  total(): Promise<number>
}

/** Requests one page. */
export type LoadPage<Row> = (page: { readonly limit: number; readonly offset: number }) => Promise<Found<Row>>

/** Where an iteration begins, and when it ends. */
export interface Range {
  readonly limit: number
  readonly offset: number
  readonly maxRows: number
  readonly signal: AbortSignal | null | undefined
}

/**
 * Returns the rows of all pages for `searchAll`. If rows are added or removed between two pages, a row may be missed or come twice.
 * Rejects with `response_invalid` if a page repeats the one before. Throws `config_invalid`.
 */
export function allRows<Row extends { id: number }>(load: LoadPage<Row>, range: Range): AllRows<Row> {
  const { limit, offset, maxRows } = range
  if (!(limit >= 1 && offset >= 0 && maxRows >= 1)) invalid('limit and maxRows must be at least 1, offset at least 0')
  let first: Promise<Found<Row>> | undefined
  return {
    async total() {
      try {
        first ??= load({ limit: Math.min(limit, maxRows), offset })
        return (await first).count
      } catch (error) {
        first = undefined
        throw error
      }
    },
    [Symbol.asyncIterator]() {
      const begun = first
      first = undefined
      return eachRow(load, range, begun)
    },
  }
}

async function* eachRow<Row extends { id: number }>(
  load: LoadPage<Row>,
  { limit, offset, maxRows, signal }: Range,
  begun: Promise<Found<Row>> | undefined,
): AsyncGenerator<Row, void, undefined> {
  let page = begun
  let firstId: number | undefined
  let at = offset
  for (let left = maxRows; left > 0; ) {
    const asked = Math.min(limit, left)
    const { items, count } = await (page ?? load({ limit: asked, offset: at }))
    page = undefined
    if (firstId !== undefined && items[0]?.id === firstId)
      throw new AgentApiError('response_invalid', 'The API sent the same rows again.')
    firstId = items[0]?.id
    for (const row of items.slice(0, left)) {
      if (signal?.aborted) throw abortedError()
      yield row
    }
    at += items.length
    left -= items.length
    // A count no larger than the page may be that of the page. It says then that this page is the last only if the page is short.
    if (items.length === 0 || (at >= count && (items.length < asked || count > asked))) return
  }
}
