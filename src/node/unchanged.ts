/**
 * Returns a function that says for how many milliseconds what stands under a name has been the same, since it was first asked about.
 * The time is that of this process alone, so that no step of the machine's clock has an effect.
 */
export function unchangedMs(): (name: string, mark: string | undefined) => number {
  const seen = new Map<string, { readonly mark: string; readonly sinceMs: number }>()
  return (name, mark) => {
    const nowMs = performance.now()
    const last = seen.get(name)
    if (mark !== undefined && last?.mark === mark) return nowMs - last.sinceMs
    if (mark === undefined) seen.delete(name)
    else seen.set(name, { mark, sinceMs: nowMs })
    return 0
  }
}
