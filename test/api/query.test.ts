// @vitest-environment happy-dom
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { type AgentApi, createAgentApi } from 'agent-auth/api'
import { act, createElement, type ReactElement } from 'react'
import { createRoot } from 'react-dom/client'
import { expect, it, onTestFinished, vi } from 'vitest'
import { useAgents } from '../../docs/snippets/api-client/query.ts'
import { envelope } from '../support/api-client.ts'

/** Polls the text of an element while React works. */
const shows = (element: HTMLElement, text: string): Promise<void> =>
  expect
    .poll(async () => {
      // TanStack Query notifies in a timer.
      await act(() => new Promise((resolve) => setTimeout(resolve)))
      return element.textContent
    })
    .toBe(text)

it('the list for TanStack Query grows by a page with each click, until all rows are shown', async () => {
  vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', true)
  onTestFinished(() => void vi.unstubAllGlobals())
  const ids = Array.from({ length: 120 }, (_, index) => index + 1)
  const offsets: number[] = []
  const fetch: typeof globalThis.fetch = async (_, init) => {
    const { limit, offset } = JSON.parse(String(init?.body)) as { limit: number; offset: number }
    offsets.push(offset)
    const items = ids.slice(offset, offset + limit).map((id) => ({ id }))
    return Response.json(envelope({ items, count: ids.length }))
  }
  const page = await render(createAgentApi({ baseUrl: 'https://api.example.com', fetch }))
  await shows(page, '50 more')
  for (const shown of ['100 more', '120']) {
    await act(async () => page.querySelector('button')?.click())
    await shows(page, shown)
  }
  expect(offsets).toEqual([0, 50, 100])
})

function List({ api }: { api: AgentApi }): ReactElement {
  const { data, hasNextPage, fetchNextPage } = useAgents(api, '')
  const rows = data?.pages.flatMap(({ items }) => items) ?? []
  const more = createElement('button', { type: 'button', onClick: () => void fetchNextPage() }, ' more')
  return createElement('main', null, rows.length, hasNextPage && more)
}

async function render(api: AgentApi): Promise<HTMLElement> {
  const element = document.body.appendChild(document.createElement('div'))
  const root = createRoot(element)
  const list = createElement(List, { api })
  await act(async () => root.render(createElement(QueryClientProvider, { client: new QueryClient() }, list)))
  onTestFinished(() => act(async () => root.unmount()))
  return element
}
