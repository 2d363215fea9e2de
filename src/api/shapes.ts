type Data = Readonly<Record<string, unknown>>

/** Returns whether `data` is that of a search. Paging depends on `count` and on the `id` of each row. */
export function isFound(data: Data): boolean {
  return hasItems(data) && Number.isSafeInteger(data.count)
}

/** Returns whether `data` has rows, each with an `id`. */
export function hasItems({ items }: Data): boolean {
  return Array.isArray(items) && items.every((row: unknown) => Number.isSafeInteger(Object(row).id))
}

/** Returns whether `data` is that of the context variables, which may leave them out. */
export function hasContextVariables({ context_variables: groups }: Data): boolean {
  return groups === undefined || (Array.isArray(groups) && groups.every((group) => Object(group) === group))
}
