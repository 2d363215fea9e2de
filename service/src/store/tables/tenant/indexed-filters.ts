import type { Filter } from './checked-search.ts'

/**
 * Columns with an index that also holds the id, and `agent_key`, whose value only one agent of a tenant has. A filter by an earlier one
 * leaves fewer agents.
 */
const narrowColumns = ['id', 'agent_key', 'agent_name', 'parent_agent_type_key', 'llm_model', 'active']

/** One comparison of a filter. */
export type Equals<Column extends string> = Extract<Filter<Column>, { kind: 'equals' }>

/** Returns the comparisons of a filter if it consists only of comparisons that must all hold, else undefined. */
export function requiredEquals<Column extends string>(filter: Filter<Column>): Equals<Column>[] | undefined {
  if (filter.kind === 'equals') return [filter]
  if (filter.kind === 'any') return undefined
  const parts = filter.filters.map(requiredEquals)
  return parts.every((part) => part !== undefined) ? parts.flat() : undefined
}

/**
 * Returns comparisons of columns with an index. If it returns any, each hit of the filter fulfills at least one of them.
 *
 * - If the filter requires such comparisons, it returns the one whose column comes first in `narrowColumns`.
 * - Otherwise it returns the first group of alternatives in which every part is such a comparison.
 * - If there is no such group, it returns none.
 */
export function narrowing<Column extends string>(filter: Filter<Column>): Equals<Column>[] {
  const parts = requiredParts(filter)
  const required = parts.flatMap((part) => requiredEquals(part) ?? [])
  for (const column of narrowColumns) {
    const found = required.find((equals) => equals.column === column)
    if (found !== undefined) return [found]
  }
  const groups = parts.flatMap((part) => (part.kind === 'any' ? [part.filters] : []))
  return groups.map(differentEquals).find((group) => group.length > 0) ?? []
}

/** Returns the filters that must all hold, also those of groups in groups. */
function requiredParts<Column extends string>(filter: Filter<Column>): Filter<Column>[] {
  return filter.kind === 'all' ? filter.filters.flatMap(requiredParts) : [filter]
}

/**
 * Returns the comparisons of a group if it has only comparisons of columns with an index, else none. Each is returned once, because the
 * database reads an index for each.
 */
function differentEquals<Column extends string>(group: Filter<Column>[]): Equals<Column>[] {
  const equals = group.filter((part) => part.kind === 'equals')
  if (equals.length < group.length || !equals.every(({ column }) => narrowColumns.includes(column))) return []
  return [...new Map(equals.map((part) => [JSON.stringify([part.column, part.value]), part])).values()]
}
