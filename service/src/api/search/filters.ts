import { apiLimits, limits } from '../../limits.ts'
import type { Filter } from '../../store/tables/tenant/checked-search.ts'
import { isStorable } from '../characters.ts'
import { isLongerThan } from '../text.ts'

/** The columns a search may filter and sort by, and the type of their values (spec 4.2, 4.4). */
export type ColumnTypes<Column extends string> = Readonly<Record<Column, 'integer' | 'text' | 'boolean'>>

export interface Fault {
  path: (string | number)[]
  message: string
  type: string
}

export type Parsed<Value> = { value: Value; faults: Fault[] }

/**
 * Reads `filters`. An item is a filter, or a group { operator: and | or, filters }. All items of the list apply. A column or
 * operator must be on a fixed list, and a value must have the type of its column (S-070). The operator is `equals` alone. There may
 * be `filterNodes`, 50 filters and groups in all, `filterDepth`, 3 levels of groups, and `limits.filterCharacters`, 1,500 in a
 * value.
 */
export function parseFilters<Column extends string>(
  items: unknown[],
  columns: ColumnTypes<Column>,
): Parsed<Filter<Column>> {
  const faults: Fault[] = []
  let nodes = 0

  function parseList(list: unknown[], path: Fault['path'], depth: number): Filter<Column>[] {
    return list.flatMap((item, index) => parseItem(item, [...path, index], depth) ?? [])
  }
  function parseItem(item: unknown, path: Fault['path'], depth: number): Filter<Column> | undefined {
    nodes += 1
    // A list that is too long or too deep gets one fault, and its other items are not read.
    if (nodes > apiLimits.filterNodes)
      return nodes === apiLimits.filterNodes + 1
        ? fault(path, `at most ${apiLimits.filterNodes} filters`, 'too_many')
        : undefined
    if (depth > apiLimits.filterDepth)
      return fault(path, `groups nest at most ${apiLimits.filterDepth} deep`, 'too_deep')
    if (typeof item !== 'object' || item === null || Array.isArray(item)) {
      return fault(path, 'a filter or a filter group', 'object_type')
    }
    const node = new Map<string, unknown>(Object.entries(item))
    return node.has('filters') ? parseGroup(node, path, depth) : parseFilter(node, path)
  }
  function parseGroup(node: Map<string, unknown>, path: Fault['path'], depth: number): Filter<Column> | undefined {
    const list = node.get('filters')
    const operator = node.get('operator')
    if (!Array.isArray(list)) return fault([...path, 'filters'], 'a list of filters', 'array_type')
    if (operator !== 'and' && operator !== 'or')
      return fault([...path, 'operator'], 'the operator is and, or or', 'enum')
    const filters = parseList(list, [...path, 'filters'], depth + 1)
    return { kind: operator === 'and' ? 'all' : 'any', filters }
  }
  function parseFilter(node: Map<string, unknown>, path: Fault['path']): Filter<Column> | undefined {
    for (const name of ['column', 'operator', 'value']) {
      if (!node.has(name)) return fault([...path, name], 'Field required', 'missing')
    }
    const column = node.get('column')
    if (!isColumn(column, columns)) return fault([...path, 'column'], allowed(columns), 'enum')
    if (node.get('operator') !== 'equals') return fault([...path, 'operator'], 'the operator is equals', 'enum')
    const given = node.get('value')
    // Longer than any name or key.
    if (typeof given === 'string' && isLongerThan(given, limits.filterCharacters))
      return fault([...path, 'value'], `at most ${limits.filterCharacters} characters`, 'string_too_long')
    const value = valueFor(columns[column], given)
    if (value === undefined)
      return fault([...path, 'value'], `a value of type ${columns[column]}`, `${columns[column]}_type`)
    return { kind: 'equals', column, value }
  }
  function fault(path: Fault['path'], message: string, type: string): undefined {
    faults.push({ path, message, type })
  }
  return { value: { kind: 'all', filters: parseList(items, [], 1) }, faults }
}

export function isColumn<Column extends string>(name: unknown, columns: ColumnTypes<Column>): name is Column {
  return typeof name === 'string' && Object.hasOwn(columns, name)
}

export function allowed(columns: ColumnTypes<string>): string {
  return `one of ${Object.keys(columns).join(', ')}`
}

function valueFor(type: 'integer' | 'text' | 'boolean', value: unknown): string | number | undefined {
  if (type === 'integer') return Number.isSafeInteger(value) ? (value as number) : undefined
  if (type === 'boolean') return typeof value === 'boolean' ? Number(value) : undefined
  // Columns hold names and keys in NFC.
  return typeof value === 'string' && isStorable(value) ? value.normalize('NFC') : undefined
}
