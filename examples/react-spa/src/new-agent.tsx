/** @jsxImportSource react */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { NewParentAgent } from 'agent-auth/api'
import type { ReactElement } from 'react'
import { api } from './auth.ts'
import { Problem } from './problem.tsx'

export function NewAgent(): ReactElement {
  const queries = useQueryClient()
  const { mutateAsync, error, isPending } = useMutation({
    mutationFn: (agent: NewParentAgent) => api.parentAgents.create(agent),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['agents'] }),
  })
  return (
    <section>
      <h2>New agent</h2>
      {error && <Problem error={error} />}
      <form
        onSubmit={(event) => {
          event.preventDefault()
          const form = event.currentTarget
          const field = (name: string): string => String(new FormData(form).get(name))
          mutateAsync({
            agent_name: field('agent_name'),
            description: field('description'),
            parent_agent_type_key: field('parent_agent_type_key'),
            active: true,
          }).then(
            () => form.reset(),
            () => {},
          )
        }}
      >
        <label>
          Name <input name="agent_name" required autoComplete="off" />
        </label>
        <label>
          What it should do <input name="description" required autoComplete="off" />
        </label>
        <label>
          Type key <input name="parent_agent_type_key" required defaultValue="assistant" autoComplete="off" />
        </label>
        <div className="buttons">
          <button className="first" type="submit" disabled={isPending}>
            Create
          </button>
        </div>
      </form>
    </section>
  )
}
