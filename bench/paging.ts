import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createAgentApi } from '../src/api/index.ts'
import { type Figure, median, type Size } from './figures.ts'

const sizes = { whole: { rows: 100_000, rounds: 5 }, short: { rows: 5_000, rounds: 1 } }
const pageRows = 250
/** What the server takes for a page, and the consumer for its rows. */
const workMs = 2
/** As many rows per second as the loop written by hand, at least, and so much more memory at the end, at most. */
const targets = { ratio: 1, grownMB: 2 }

type UseRow = (row: { id: number }) => Promise<void> | undefined

interface Found {
  readonly items: { id: number }[]
  readonly count: number
}

/** Reads 100,000 rows by `searchAll` and by a loop of `fetch` calls, while each page of rows takes 2 ms to use. */
export async function paging(size: Size): Promise<Figure[]> {
  const { rows } = sizes[size]
  const server = await serve(rows)
  const { rates, grown } = await measure(server, sizes[size]).finally(() => {
    server.closeAllConnections()
    server.close()
  })
  const hand = 'a loop by hand'
  const count = (all: number): string => all.toLocaleString('en-US')
  return [
    {
      name: `searchAll, ${count(rows)} rows`,
      value: median(rates.searchAll),
      unit: 'rows per second',
      peers: { [hand]: median(rates.byHand) },
      target: { least: targets.ratio, of: hand },
    },
    {
      name: `heap after ${count(rows)} rows, more than after ${count(rows / 10)}`,
      value: grown,
      unit: 'MB',
      target: { most: targets.grownMB },
    },
  ]
}

async function measure(
  server: Server,
  { rows, rounds }: (typeof sizes)[Size],
): Promise<{ rates: { byHand: number[]; searchAll: number[] }; grown: number }> {
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const rates = { byHand: [] as number[], searchAll: [] as number[] }
  for (let round = 0; round < rounds; round++) {
    rates.byHand.push(rows / (await secondsOf((use) => byHand(baseUrl, use))))
    rates.searchAll.push(rows / (await secondsOf((use) => withClient(baseUrl, use))))
  }
  return { rates, grown: await growthMB(rows, (use) => withClient(baseUrl, use)) }
}

async function withClient(baseUrl: string, use: UseRow): Promise<void> {
  const api = createAgentApi({ baseUrl, fetch })
  for await (const row of api.parentAgents.searchAll({ limit: pageRows })) await use(row)
}

/** As an app writes it: one page, its rows, the next page. */
async function byHand(baseUrl: string, use: UseRow): Promise<void> {
  for (let offset = 0; ; offset += pageRows) {
    const body = JSON.stringify({ limit: pageRows, offset, sort: { column: 'id', desc: false } })
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${baseUrl}/api/parent_agents/search`, { method: 'POST', headers, body })
    const { data } = (await response.json()) as { data: Found }
    for (const row of data.items) await use(row)
    if (offset + data.items.length >= data.count) return
  }
}

const atPageEnd: UseRow = ({ id }) => (id % pageRows === 0 ? sleep(workMs) : undefined)

async function secondsOf(read: (use: UseRow) => Promise<void>): Promise<number> {
  const startMs = performance.now()
  await read(atPageEnd)
  return (performance.now() - startMs) / 1_000
}

async function growthMB(rows: number, read: (use: UseRow) => Promise<void>): Promise<number> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const heapBytes = (): number => {
    collect()
    return process.memoryUsage().heapUsed
  }
  let early = 0
  let late = 0
  await read((row) => {
    if (row.id === rows / 10) early = heapBytes()
    if (row.id === rows) late = heapBytes()
    return undefined
  })
  return (late - early) / 1_000_000
}

async function serve(rows: number): Promise<Server> {
  const description = 'Reads invoices and lists amounts, dates and suppliers. '.repeat(4)
  const server = createServer(async (request, response) => {
    const { limit, offset } = JSON.parse(await text(request)) as { limit: number; offset: number }
    const length = Math.min(limit, rows - offset)
    const items = Array.from({ length }, (_, index) => ({ id: offset + index + 1, description }))
    await sleep(workMs)
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ success: true, data: { items, count: rows }, error_type: null }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}
