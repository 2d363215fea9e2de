import { apiLimits } from '../limits.ts'
import type { ColumnTypes } from './filters.ts'

type Description = Record<string, unknown>

const jsonTypes = { integer: 'integer', text: 'string', boolean: 'boolean' } as const

/** `filters` and `sort` have their own parsers; this is what they accept, for the OpenAPI document. */
export function describeFilters(columns: ColumnTypes<string>): Description {
  const types = new Set(Object.values(columns).map((type) => jsonTypes[type]))
  const filter = object({
    column: { enum: Object.keys(columns) },
    operator: { const: 'equals' },
    value: { type: [...types] },
  })
  const group = object({
    operator: { enum: ['and', 'or'] },
    filters: {
      type: 'array',
      items: { type: 'object' },
      description: `Filters and groups, at most ${apiLimits.filterDepth} deep`,
    },
  })
  return { items: { anyOf: [filter, group] }, description: 'All of them hold together' }
}

export function describeSort(columns: ColumnTypes<string>): Description {
  const desc = { type: 'boolean', default: false, description: 'True is descending' }
  const key = { ...object({ column: { enum: Object.keys(columns) }, desc }), required: ['column'] }
  return { anyOf: [key, { type: 'array', items: key, maxItems: apiLimits.sortColumns }] }
}

function object(properties: Record<string, Description>): Description {
  return { type: 'object', properties, required: Object.keys(properties) }
}
