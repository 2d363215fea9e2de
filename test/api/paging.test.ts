import { type AgentApi, createAgentApi, type ParentAgent, type SearchAllOptions } from 'agent-auth/api'
import { describe, expect, it } from 'vitest'
import { apiFailure, envelope } from '../support/api-client.ts'
import { failure } from '../support/token-flow.ts'

interface Page {
  readonly limit: number
  readonly offset: number
}

/** How a server counts: the whole search, as agent-service does, or the rows of the page. */
type Count = 'of all' | 'of the page'

interface Table {
  readonly api: AgentApi
  readonly pages: Page[]
  /** The ids in the order of the search. The test changes them between pages. */
  readonly ids: number[]
  /** Runs before a page is read, counted from 0. */
  before?: (page: number) => void | Promise<void>
}

function table(rows: number, { count = 'of all', row = {} }: { count?: Count; row?: object } = {}): Table {
  const pages: Page[] = []
  const ids = Array.from({ length: rows }, (_, index) => index + 1)
  const fetch: typeof globalThis.fetch = async (_, init) => {
    const page = JSON.parse(String(init?.body)) as Page
    pages.push(page)
    await made.before?.(pages.length - 1)
    init?.signal?.throwIfAborted()
    const items = ids.slice(page.offset, page.offset + page.limit).map((id) => ({ id, ...row }))
    return Response.json(envelope({ items, count: count === 'of all' ? ids.length : items.length }))
  }
  const made: Table = { api: createAgentApi({ baseUrl: 'https://api.example.com', fetch }), pages, ids }
  return made
}

async function idsOf(rows: AsyncIterable<ParentAgent>): Promise<number[]> {
  const ids: number[] = []
  for await (const { id } of rows) ids.push(id)
  return ids
}

const upTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1)
const offsets = ({ pages }: Table): number[] => pages.map(({ offset }) => offset)

describe('pages', () => {
  it.each<[number, Count, number[]]>([
    [0, 'of all', [0]],
    [251, 'of all', [0, 250]],
    [501, 'of all', [0, 250, 500]],
    // A count as large as the page may be that of the page: only the next page tells.
    [250, 'of all', [0, 250]],
    [251, 'of the page', [0, 250]],
    [500, 'of the page', [0, 250, 500]],
  ])('%i rows with a count %s: each row once', async (rows, count, expected) => {
    const agents = table(rows, { count })
    expect(await idsOf(agents.api.parentAgents.searchAll())).toEqual(upTo(rows))
    expect(offsets(agents)).toEqual(expected)
  })

  it('sends limit and offset with each page, and sorts by id where no order was asked for', async () => {
    const agents = table(25)
    const search = { limit: 10, offset: 3, search_value: 'x', active: true }
    expect(await idsOf(agents.api.parentAgents.searchAll(search))).toEqual(upTo(25).slice(3))
    const filters = [{ column: 'active', operator: 'equals', value: true }]
    const sort = { column: 'id', desc: false }
    expect(agents.pages).toEqual([3, 13, 23].map((offset) => ({ limit: 10, offset, search_value: 'x', filters, sort })))
    const sorted = { column: 'agent_name', desc: true } as const
    await idsOf(agents.api.parentAgents.searchAll({ sort: sorted }))
    expect(agents.pages.at(-1)).toMatchObject({ sort: sorted })
  })

  it('a server that gives shorter pages than asked for, or longer ones, loses no row', async () => {
    for (const size of [7, 40]) {
      const fetch: typeof globalThis.fetch = async (_, init) => {
        const { offset } = JSON.parse(String(init?.body)) as Page
        const items = upTo(100).slice(offset, offset + size)
        return Response.json(envelope({ items: items.map((id) => ({ id })), count: 100 }))
      }
      const api = createAgentApi({ baseUrl: 'https://api.example.com', fetch })
      expect(await idsOf(api.parentAgents.searchAll({ limit: 20 }))).toEqual(upTo(100))
    }
  })

  it('a server that counts more rows than it has: the empty page is the last', async () => {
    const fetch: typeof globalThis.fetch = async (_, init) => {
      const { offset } = JSON.parse(String(init?.body)) as Page
      expect(offset).toBeLessThanOrEqual(20)
      const items = upTo(20).slice(offset, offset + 10)
      return Response.json(envelope({ items: items.map((id) => ({ id })), count: offset < 20 ? 1_000 : 1_000_000 }))
    }
    const api = createAgentApi({ baseUrl: 'https://api.example.com', fetch })
    expect(await idsOf(api.parentAgents.searchAll({ limit: 10 }))).toEqual(upTo(20))
  })

  it.each<[object, SearchAllOptions]>([
    [{ limit: 0 }, {}],
    [{ limit: Number.NaN }, {}],
    [{ offset: -1 }, {}],
    [{}, { maxRows: 0 }],
  ])('refuses %j with %j', async (search, options) => {
    const { api } = table(1)
    expect(await failure(() => api.parentAgents.searchAll(search, options))).toMatchObject({ code: 'config_invalid' })
  })

  it('total is the count of the first page, which the iteration then uses, and is asked for again after a failure', async () => {
    const agents = table(300)
    agents.before = (page) => {
      if (page === 0) throw new TypeError('fetch failed')
    }
    const rows = agents.api.parentAgents.searchAll({}, { maxRetries: 0 })
    expect(await apiFailure(rows.total())).toMatchObject({ retryable: true })
    delete agents.before
    expect(await Promise.all([rows.total(), rows.total()])).toEqual([300, 300])
    expect(await idsOf(rows)).toEqual(upTo(300))
    expect(offsets(agents)).toEqual([0, 0, 250])
    expect(await idsOf(rows)).toEqual(upTo(300))
    expect(offsets(agents)).toEqual([0, 0, 250, 0, 250])
  })

  it('maxRows ends the iteration and asks for no more rows than that', async () => {
    const agents = table(1_000)
    expect(await idsOf(agents.api.parentAgents.searchAll({}, { maxRows: 260 }))).toEqual(upTo(260))
    expect(agents.pages.map(({ limit, offset }) => ({ limit, offset }))).toEqual([
      { limit: 250, offset: 0 },
      { limit: 10, offset: 250 },
    ])
  })
})

describe('a server without offsets', () => {
  it('response_invalid for a server that sends the same rows for every offset', async () => {
    const fetch: typeof globalThis.fetch = async () =>
      Response.json(envelope({ items: [{ id: 1 }, { id: 2 }], count: 1_000_000 }))
    const api = createAgentApi({ baseUrl: 'https://api.example.com', fetch })
    const seen: number[] = []
    const call = async (): Promise<void> => {
      for await (const { id } of api.parentAgents.searchAll({ limit: 2 })) seen.push(id)
    }
    expect(await apiFailure(call())).toMatchObject({ code: 'response_invalid' })
    expect(seen).toEqual([1, 2])
  })
})

describe('the next page', () => {
  it('is requested after the rows of this one, and may fail', async () => {
    const agents = table(30)
    agents.before = (page) => {
      if (page === 1) throw new TypeError('fetch failed')
    }
    const seen: number[] = []
    const call = async (): Promise<void> => {
      for await (const { id } of agents.api.parentAgents.searchAll({ limit: 10 }, { maxRetries: 0 })) seen.push(id)
    }
    expect(await apiFailure(call())).toMatchObject({ code: 'request_failed', retryable: true })
    expect(seen).toEqual(upTo(10))
  })

  it('is not requested after an abort, nor is another row yielded', async () => {
    const agents = table(30)
    const controller = new AbortController()
    const seen: number[] = []
    const call = async (): Promise<void> => {
      const options = { signal: controller.signal }
      for await (const { id } of agents.api.parentAgents.searchAll({ limit: 10 }, options)) {
        seen.push(id)
        if (id === 3) controller.abort()
      }
    }
    expect(await failure(call())).toMatchObject({ code: 'aborted' })
    expect({ seen, offsets: offsets(agents) }).toEqual({ seen: [1, 2, 3], offsets: [0] })
    const late = agents.api.parentAgents.searchAll({}, { signal: controller.signal })
    expect(await failure(idsOf(late))).toMatchObject({ code: 'aborted' })
    expect(await failure(late.total())).toMatchObject({ code: 'aborted' })
    expect(offsets(agents)).toEqual([0])
  })
})
