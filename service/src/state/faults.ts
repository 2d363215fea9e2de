/** A fault for a test: which requests it hits, what happens to them, and how often. */
export interface FaultRule {
  /** Which requests. Default: all. */
  match?: FaultMatch | undefined
  /** What happens to them. */
  effect: FaultEffect
  /** How many requests it hits; without it, every one until the faults are cleared. */
  times?: number | undefined
}

/** Selects the requests of a fault. An absent member matches every request. */
export interface FaultMatch {
  /** The HTTP method. */
  method?: string | undefined
  /** The path. One that ends with `*` matches every path with that beginning. */
  path?: string | undefined
  /** The authorization server or the API. */
  origin?: 'auth' | 'base' | undefined
}

/**
 * The effect of a fault: another response, a delay before the response, or a lost response. `reset` breaks the connection
 * before anything is done. After `truncate` everything is done and half of the response arrives; after
 * `drop-after-commit` everything is done and no response arrives.
 */
export type FaultEffect =
  /** Responds with this status, this body (text, or JSON of any other value) and these headers. */
  | { status: number; body?: unknown; headers?: Record<string, string> | undefined }
  /** Waits this number of milliseconds first. */
  | { delayMs: number }
  | 'reset'
  | 'truncate'
  | 'drop-after-commit'

export interface FaultTarget {
  method: string
  path: string
  origin: 'auth' | 'base'
}

export interface Faults {
  add(rule: FaultRule): void
  clear(): void
  /** The rules that are not used up, with the times that are left. */
  list(): FaultRule[]
  /** The effect of the oldest rule that matches and is not used up. Counts as one use of it. */
  take(target: FaultTarget): FaultEffect | undefined
}

interface Kept {
  rule: FaultRule
  left: number
}

export function createFaults(): Faults {
  let kept: Kept[] = []
  return {
    add(rule) {
      kept.push({ rule, left: rule.times ?? Number.POSITIVE_INFINITY })
    },
    clear() {
      kept = []
    },
    list: () => kept.map(({ rule, left }) => (rule.times === undefined ? rule : { ...rule, times: left })),
    take(target) {
      const found = kept.find(({ rule }) => matches(rule.match ?? {}, target))
      if (found === undefined) return undefined
      found.left -= 1
      if (found.left === 0) kept = kept.filter((one) => one !== found)
      return found.rule.effect
    },
  }
}

function matches(match: FaultMatch, target: FaultTarget): boolean {
  if (match.origin !== undefined && match.origin !== target.origin) return false
  if (match.method !== undefined && match.method.toUpperCase() !== target.method) return false
  if (match.path === undefined) return true
  return match.path.endsWith('*') ? target.path.startsWith(match.path.slice(0, -1)) : match.path === target.path
}
