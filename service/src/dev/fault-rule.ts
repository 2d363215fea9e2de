import * as z from 'zod/mini'
import { problemText, strict } from '../issue-text.ts'
import { toolLimits } from '../limits.ts'
import type { FaultRule } from '../state/faults.ts'

const header = z.string().check(z.regex(/^[\x20-\x7e]*$/, 'must be ASCII'))
const path = z.string().check(z.regex(/^\/[^*]*\*?$/, 'must begin with /, with * only at its end'))

const effects = ['reset', 'truncate', 'drop-after-commit'] as const
const effectText = `must be ${effects.join(', ')}, {"status": 200 to 599} or {"delayMs": 0 to ${toolLimits.faultDelayMs}}`

const faultRule: z.ZodMiniType<FaultRule> = strict({
  match: z.optional(
    strict({
      method: z.optional(z.string()),
      path: z.optional(path),
      origin: z.optional(z.enum(['auth', 'base'])),
    }),
  ),
  effect: z.union(
    [
      z.enum(effects),
      strict({ delayMs: wholeNumber(0, toolLimits.faultDelayMs) }),
      strict({
        status: wholeNumber(200, 599),
        body: z.optional(z.unknown()),
        headers: z.optional(z.record(z.string().check(z.regex(/^[A-Za-z0-9-]+$/)), header)),
      }),
    ],
    effectText,
  ),
  times: z.optional(z.int().check(z.gte(1))),
})

function wholeNumber(least: number, most: number): z.ZodMiniNumber {
  const isInRange = (value: number) => Number.isInteger(value) && value >= least && value <= most
  return z.number().check(z.refine(isInRange, `must be a whole number from ${least} to ${most}`))
}

/** Returns the rule. Throws a TypeError that names the wrong member, because a misspelt one would be a fault that never happens. */
export function readFaultRule(value: unknown): FaultRule {
  const read = faultRule.safeParse(value, { reportInput: true })
  if (!read.success) throw new TypeError(problemText(read.error))
  return read.data
}
