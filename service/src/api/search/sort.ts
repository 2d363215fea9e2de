import { apiLimits } from '../../limits.ts'
import type { SortKey } from '../../store/tables/tenant/checked-search.ts'
import type { ColumnTypes, Fault, Parsed } from './filters.ts'
import { allowed, isColumn } from './filters.ts'

/**
 * Reads `sort`: one object or, as in the specification's other example, a list of them (`sortColumns`, 10; A-09). Rows that are
 * equal, and all rows without `sort`, come in the order of their ids.
 */
export function parseSort<Column extends string>(
  sort: unknown,
  columns: ColumnTypes<Column>,
): Parsed<SortKey<Column>[]> {
  const faults: Fault[] = []
  function fault(path: Fault['path'], message: string, type: string): undefined {
    faults.push({ path, message, type })
  }
  function parseKey(key: unknown, path: Fault['path']): SortKey<Column> | undefined {
    if (typeof key !== 'object' || key === null || Array.isArray(key)) return fault(path, 'an object', 'object_type')
    const members = new Map<string, unknown>(Object.entries(key))
    const column = members.get('column')
    const isDescending = members.get('desc') ?? false
    if (column === undefined) return fault([...path, 'column'], 'Field required', 'missing')
    if (!isColumn(column, columns)) return fault([...path, 'column'], allowed(columns), 'enum')
    if (typeof isDescending !== 'boolean') return fault([...path, 'desc'], 'true or false', 'boolean_type')
    return { column, direction: isDescending ? 'desc' : 'asc' }
  }
  if (!Array.isArray(sort)) {
    const key = parseKey(sort, [])
    return { value: key === undefined ? [] : [key], faults }
  }
  if (sort.length > apiLimits.sortColumns) fault([], `at most ${apiLimits.sortColumns} columns`, 'too_many')
  const keys = sort.slice(0, apiLimits.sortColumns).flatMap((key, index) => parseKey(key, [index]) ?? [])
  return { value: keys, faults }
}
