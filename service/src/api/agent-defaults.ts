import type { NewContextGroup } from '../store/tenant.ts'

/** The configuration of a new agent, which the specification does not show. */
export const defaultConfigs = {
  last_agent_in_group: '',
  max_rounds: '10',
  temperature: 0.2,
  max_messages: '50',
  continue_with_last_agent: false,
  memory_expiration: {
    thread_ttl_hours: 24,
    agent_ttl_days: 30,
    tenant_ttl_days: 90,
    clear_thread_on_conversation_end: false,
  },
} as const

const messageVariable = {
  path: 'message',
  type: 'string',
  description: 'Text the conversation was started with',
  full_var: '{{ runtime_input.message }}',
  insert_value: 'runtime_input.message',
}

/** The context variables of a new agent: the text that the conversation was started with. */
export const defaultContextGroups: readonly NewContextGroup[] = [
  {
    key: 'runtime_input',
    tool_key: 'runtime_input',
    tool_name: 'Runtime input',
    display_name: 'Runtime input',
    tool_id: 'runtime_input',
    source_type: 'runtime_input',
    variables: JSON.stringify([messageVariable]),
    output_schema: JSON.stringify({ type: 'object', properties: { message: { type: 'string' } } }),
  },
]
