import { toolLimits } from '../limits.ts'
import type { Check } from '../shape.ts'
import { isRecord, isText, object, oneOf, optional, wholeNumber } from '../shape.ts'
import type { FaultRule } from '../state/faults.ts'

const effects: Check[] = [
  object({
    status: wholeNumber(200, 599),
    body: () => true,
    headers: optional(isHeaders),
  }),
  object({ delayMs: wholeNumber(0, toolLimits.faultDelayMs) }),
  oneOf('reset', 'truncate', 'drop-after-commit'),
]

const isRule = object({
  match: optional(
    object({
      method: optional(isText),
      path: optional((path) => isText(path) && path.startsWith('/')),
      origin: optional(oneOf('auth', 'base')),
    }),
  ),
  effect: (effect) => effects.some((check) => check(effect)),
  times: optional(wholeNumber(1)),
})

/** Returns the rule, or undefined if it is invalid, because a misspelt member would be a fault that never happens. */
export function readFaultRule(value: unknown): FaultRule | undefined {
  return isRule(value) ? (value as FaultRule) : undefined
}

function isHeaders(value: unknown): boolean {
  const isHeader = ([name, text]: [string, unknown]) =>
    /^[A-Za-z0-9-]+$/.test(name) && isText(text) && /^[\x20-\x7e]*$/.test(text)
  return isRecord(value) && Object.entries(value).every(isHeader)
}
