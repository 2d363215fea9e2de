const mostAtOnce = 500

/** Splits rows into parts for one insert each, because a statement of SQLite has at most 32,766 parameters. */
export function partsOf<Row>(rows: readonly Row[]): Row[][] {
  const count = Math.ceil(rows.length / mostAtOnce)
  return Array.from({ length: count }, (_, part) => rows.slice(part * mostAtOnce, (part + 1) * mostAtOnce))
}
