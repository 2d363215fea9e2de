import { invalid } from '../config/invalid.ts'
import { maxRememberedIds, maxRepeatedPages } from '../internal/limits.ts'
import { abortedError } from '../internal/timeouts.ts'
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
 * Returns the rows of all pages for `searchAll` (api.ts), which sorts by `id` and asks for pages of `maxPageRows`, 250, unless the
 * search says otherwise. If fewer rows are left than before, it reads back as many, because they may have moved. Returns each row
 * once, as far as it remembers them (`maxRememberedIds`, 1,000). Rejects with `response_invalid` if too many pages have no new row
 * (`maxRepeatedPages`, 3). Throws `config_invalid`.
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
  return Object.assign(rows, { [Symbol.iterator]: noArray, map: noArray, forEach: noArray })
}

/** Stands for what an array has. The types have none of it. */
function noArray(): never {
  invalid('searchAll needs for await')
}

async function* eachRow<Row extends { id: number }>(
  load: LoadPage<Row>,
  range: Range,
  begun: Promise<Found<Row>> | undefined,
): AsyncGenerator<Row, void, undefined> {
  const { signal } = range
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
  try {
    for await (const rows of eachPage(request, range, begun))
      for (const row of rows) {
        if (signal?.aborted) throw abortedError()
        yield row
      }
  } finally {
    signal?.removeEventListener('abort', stop)
    // The page that was requested ahead has no reader any more.
    stop()
  }
}

/** Yields the new rows of each page, and has the next page requested by then. */
async function* eachPage<Row extends { id: number }>(
  load: LoadPage<Row>,
  { limit, offset, maxRows, signal }: Range,
  begun: Promise<Found<Row>> | undefined,
): AsyncGenerator<Row[], void, undefined> {
  const unseen = recentIds<Row>()
  let at = offset
  let left = maxRows
  let asked = Math.min(limit, left)
  let next = begun ?? load({ limit: asked, offset: at }, signal)
  let total = 0
  let repeated = 0
  for (;;) {
    const { items, count } = await next
    // A count no larger than the page may be that of the page, and then says nothing of the rows before.
    const before = total > limit ? await passedOver(total - count) : []
    const rows = unseen([...before, ...items]).slice(0, left)
    repeated = items.length > 0 && rows.length === 0 ? repeated + 1 : 0
    if (repeated > maxRepeatedPages)
      throw new AgentApiError('response_invalid', 'The API sent the same rows for each offset.')
    total = count
    at += items.length
    left -= rows.length
    // Nor does it say then whether this page is the last, unless the page is shorter than asked for.
    const isAtEnd = items.length === 0 || (at >= count && (items.length < asked || count > asked))
    asked = Math.min(limit, left)
    if (!isAtEnd && asked > 0) next = load({ limit: asked, offset: at }, signal)
    yield rows
    if (isAtEnd || asked === 0) return
  }

  /** If fewer rows are left than before, as many may have moved to where they were read already. */
  async function passedOver(removed: number): Promise<Row[]> {
    const rows = Math.min(removed, limit, at - offset)
    return rows > 0 ? (await load({ limit: rows, offset: at - rows }, signal)).items : []
  }
}

/** Returns a filter that lets each row through once, as far as it remembers. */
function recentIds<Row extends { id: number }>(): (rows: readonly Row[]) => Row[] {
  const recent = new Set<number>()
  return (rows) => {
    const fresh = rows.filter(({ id }) => !recent.has(id) && recent.add(id))
    for (const id of recent) {
      if (recent.size <= maxRememberedIds) break
      recent.delete(id)
    }
    return fresh
  }
}
