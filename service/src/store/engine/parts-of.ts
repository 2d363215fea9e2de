import { storeLimits } from '../../limits.ts'

/** Splits rows into parts for one insert each, because a statement has a limited number of parameters. */
export function partsOf<Row>(rows: readonly Row[]): Row[][] {
  const count = Math.ceil(rows.length / storeLimits.insertedRows)
  return Array.from({ length: count }, (_, part) =>
    rows.slice(part * storeLimits.insertedRows, (part + 1) * storeLimits.insertedRows),
  )
}
