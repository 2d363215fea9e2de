import { defaultConfigs, defaultContextGroups } from '../api/agents/agent-defaults.ts'
import { keyOf } from '../api/agents/agent-key.ts'
import type { NewContextGroup } from '../store/tables/tenant/context-groups.ts'
import type { NewParentAgent } from '../store/tables/tenant/parent-agents.ts'

const agents: [name: string, type: string, description: string, activity: 'on' | 'off'][] = [
  ['Invoice Reader', 'Document Agent', 'Reads invoices and lists amounts, dates and suppliers.', 'on'],
  ['Contract Checker', 'Document Agent', 'Compares contracts with the house rules and marks differences.', 'on'],
  ['Support Desk', 'Conversation Agent', 'Answers customers and hands hard questions to people.', 'on'],
  ['Order Status', 'Conversation Agent', 'Tells customers where their order is.', 'on'],
  ['Meeting Notes', 'Conversation Agent', 'Turns a meeting into decisions and tasks.', 'off'],
  ['Lead Research', 'Research Agent', 'Collects what is known about a company before a call.', 'on'],
  ['Market Watch', 'Research Agent', 'Follows prices and news of a market each morning.', 'on'],
  ['Patent Search', 'Research Agent', 'Finds patents close to an idea.', 'off'],
  ['Nightly Report', 'Workflow Agent', 'Gathers the figures of the day and writes the report.', 'on'],
  ['Access Review', 'Workflow Agent', 'Asks owners whether accounts are still needed.', 'on'],
  ['100% Coverage', 'Workflow Agent', 'Looks for parts of a text that nobody reviewed.', 'on'],
  ['Legacy_Import', 'Workflow Agent', 'Moves records from the old system.', 'off'],
]

const dayMs = 24 * 60 * 60_000

/** Returns the agents of a demo tenant, a day apart, with its models by turns. */
export function demoAgents(modelIds: readonly number[], nowMs: number): NewParentAgent[] {
  return agents.map((agent, index) => {
    const llmModel = modelIds[index % modelIds.length] ?? 0
    return demoAgent(agent, { llmModel, createdMs: nowMs - (agents.length - index) * dayMs })
  })
}

/** Returns the context variables of a demo agent. */
export function demoGroups(): NewContextGroup[] {
  return [...defaultContextGroups(), customerTool()]
}

function demoAgent(
  [name, type, description, activity]: (typeof agents)[number],
  { llmModel, createdMs }: { llmModel: number; createdMs: number },
): NewParentAgent {
  return {
    parent_agent_type: type,
    parent_agent_type_key: keyOf(type),
    agent_key: keyOf(name),
    agent_name: name,
    full_display_name: `${name} (${type})`,
    display_name: name,
    description,
    configs: JSON.stringify({ ...defaultConfigs(), last_agent_in_group: 'summary' }),
    llm_model: llmModel,
    active: activity === 'on' ? 1 : 0,
    state_function: JSON.stringify([{ name: 'language', expression: "{{ runtime_input.language or 'en' }}" }]),
    created_ms: createdMs,
  }
}

function customerTool(): NewContextGroup {
  const variable = (path: string, type: string, description: string) => ({
    path,
    type,
    description,
    full_var: `{{ customer_lookup.${path} }}`,
    insert_value: `customer_lookup.${path}`,
  })
  return {
    key: 'customer_lookup',
    tool_key: 'customer_lookup',
    tool_name: 'Customer lookup',
    display_name: 'Customer lookup',
    tool_id: 'tool-17',
    source_type: 'tool',
    variables: JSON.stringify([
      variable('customer.id', 'integer', 'Number of the customer'),
      variable('customer.name', 'string', 'Name of the customer'),
    ]),
    output_schema: JSON.stringify({ type: 'object', properties: { customer: { type: 'object' } } }),
  }
}
