import { type InfiniteData, type UseInfiniteQueryResult, useInfiniteQuery } from '@tanstack/react-query'
import type { AgentApi, Found, ParentAgent } from 'agent-auth/api'

const limit = 50

/** A list that grows by a page with each `fetchNextPage()`. */
export function useAgents(api: AgentApi, text: string): UseInfiniteQueryResult<InfiniteData<Found<ParentAgent>>> {
  return useInfiniteQuery({
    queryKey: ['agents', text],
    queryFn: ({ pageParam: offset, signal }) => {
      const sort = { column: 'id', desc: false } as const
      return api.parentAgents.search({ search_value: text, limit, offset, sort }, { signal })
    },
    initialPageParam: 0,
    getNextPageParam: ({ items, count }, _, offset) =>
      items.length > 0 && offset + items.length < count ? offset + items.length : undefined,
    retry: false, // the client has retried already
  })
}
