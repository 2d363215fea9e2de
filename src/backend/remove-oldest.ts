/** A Set or a Map, which keep their entries in the order in which they were added. */
interface Ordered {
  readonly size: number
  keys(): Iterator<string>
  delete(key: string): boolean
}

/** Removes the entry that was added first if there are more than `maxSize`. Returns its key if it removed one. */
export function removeOldest(entries: Ordered, maxSize: number): string | undefined {
  if (entries.size <= maxSize) return undefined
  const { value } = entries.keys().next()
  entries.delete(value)
  return value
}
