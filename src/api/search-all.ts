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
export type LoadPage<Row> = (
  page: { readonly limit: number; readonly offset: number },
  signal: AbortSignal | null | undefined,
) => Promise<Found<Row>>

/** Where an iteration begins, and when it ends. */
export interface Range {
  readonly limit: number
  readonly offset: number
  readonly maxRows: number
  readonly signal: AbortSignal | null | undefined
}

/**
 * Returns the rows of all pages for `searchAll`, which sorts by `id` and asks for pages of 250 unless the search says otherwise. If rows
 * are added or removed between two pages, a row may be missed or come twice. Rejects with `response_invalid` if a page repeats the one
 * before. Throws `config_invalid`.
 */
export function allRows<Row extends { id: number }>(load: LoadPage<Row>, range: Range): AllRows<Row> {
  const { limit, offset, maxRows } = range
  if (!(limit >= 1 && offset >= 0 && maxRows >= 1)) invalid('limit and maxRows must be at least 1, offset at least 0')
  let first: Promise<Found<Row>> | undefined
  const rows: AllRows<Row> = {
    async total() {
      first ??= load({ limit: Math.min(limit, maxRows), offset }, range.signal)
      return (await first).count
    },
    [Symbol.asyncIterator]() {
      const begun = first
      first = undefined
      return eachRow(load, range, begun)
    },
  }
  // Without this, `Array.from` returns an empty list.
  return Object.defineProperty(rows, Symbol.iterator, { value: () => invalid('searchAll is read with for await') })
}

/** Has the next page requested while the rows of one are in use. */
async function* eachRow<Row extends { id: number }>(
  load: LoadPage<Row>,
  { limit, offset, maxRows, signal }: Range,
  begun: Promise<Found<Row>> | undefined,
): AsyncGenerator<Row, void, undefined> {
  const controller = new AbortController()
  const stop = (): void => controller.abort()
  if (signal?.aborted) stop()
  signal?.addEventListener('abort', stop, { once: true })
  const request: LoadPage<Row> = (page) => {
    const loading = load(page, controller.signal)
    // The next page may fail while the rows of this one are in use. It is awaited, and fails, in its turn.
    loading.catch(() => {})
    return loading
  }
  let at = offset
  let left = maxRows
  let asked = Math.min(limit, left)
  let firstId: number | undefined
  try {
    let next = begun ?? request({ limit: asked, offset: at }, signal)
    for (;;) {
      const { items, count } = await next
      if (firstId !== undefined && items[0]?.id === firstId)
        throw new AgentApiError('response_invalid', 'The API sent the same rows for each offset.')
      firstId = items[0]?.id
      const rows = items.slice(0, left)
      at += items.length
      left -= rows.length
      // A count no larger than the page may be that of the page. It says then that this page is the last only if the page is short.
      const isAtEnd = items.length === 0 || (at >= count && (items.length < asked || count > asked))
      asked = isAtEnd ? 0 : Math.min(limit, left)
      if (asked > 0) next = request({ limit: asked, offset: at }, signal)
      for (const row of rows) {
        if (signal?.aborted) throw abortedError()
        yield row
      }
      if (asked === 0) return
    }
  } finally {
    signal?.removeEventListener('abort', stop)
    // The page that was requested ahead has no reader any more.
    stop()
  }
}
