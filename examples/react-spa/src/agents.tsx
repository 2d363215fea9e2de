/** @jsxImportSource react */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { type ReactElement, useState } from 'react'
import { api } from './auth.ts'
import { Problem } from './problem.tsx'

export function Agents(): ReactElement {
  const [search, setSearch] = useState('')
  const { data, error, refetch } = useQuery({
    queryKey: ['agents', search],
    queryFn: ({ signal }) => {
      const sort = { column: 'agent_name', desc: false } as const
      return api.parentAgents.search({ limit: 50, offset: 0, search_value: search, sort }, { signal })
    },
    placeholderData: keepPreviousData,
  })
  return (
    <section>
      <h2>Agents of your organization</h2>
      {error && <Problem error={error} again={() => void refetch()} />}
      <label>
        Search
        <input type="search" autoComplete="off" value={search} onChange={({ target }) => setSearch(target.value)} />
      </label>
      <p className="quiet" aria-live="polite">
        {data && (data.count === 1 ? '1 agent' : `${data.count} agents`)}
      </p>
      <div className="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Key</th>
              <th scope="col">Type</th>
              <th scope="col">State</th>
            </tr>
          </thead>
          <tbody>
            {data?.items.map((agent) => (
              <tr key={agent.id}>
                <td>{agent.agent_name}</td>
                <td>{agent.agent_key}</td>
                <td>{agent.parent_agent_type_key}</td>
                <td>{agent.active ? 'on' : 'off'}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}
