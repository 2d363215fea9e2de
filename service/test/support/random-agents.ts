import type { NewParentAgent } from '../../src/store/tables/tenant/parent-agents.ts'
import type { Random } from './random.ts'

/** Letters that fold, compose or are two code units, wildcards of LIKE, quotes, and the marks that separate fields. */
const pieces = [
  'a',
  'B',
  'ab',
  'é',
  'e\u0301',
  '\u0301',
  'Σ',
  'ς',
  'ß',
  'İ',
  '😀',
  '👩‍💻',
  '%',
  '_',
  '\\',
  "'",
  '"',
  ' ',
  '\n',
  'À',
  '*',
  'and',
]

/** A text of a few of these. */
export function textOf(random: Random, most: number): string {
  return Array.from({ length: 1 + random.below(most) }, () => random.pick(pieces)).join('')
}

/** An agent whose texts are random, but for these. */
export function agentOf(
  random: Random,
  own: Pick<NewParentAgent, 'agent_key' | 'llm_model'> & { description?: string },
): NewParentAgent {
  return {
    parent_agent_type: 'x',
    parent_agent_type_key: `type ${random.below(3)}`,
    agent_name: textOf(random, 4),
    full_display_name: 'x',
    display_name: textOf(random, 6),
    description: textOf(random, 30),
    configs: '{}',
    active: random.chance(0.5) ? 1 : 0,
    state_function: '[]',
    created_ms: 0,
    ...own,
  }
}
