import * as z from 'zod'
import type { FaultRule } from '../faults.ts'

const longestDelayMs = 60_000

const effect = z.union([
  z.strictObject({
    status: z.int().min(200).max(599),
    body: z.unknown().optional(),
    headers: z.record(z.string().regex(/^[A-Za-z0-9-]+$/), z.string().regex(/^[\x20-\x7e]*$/)).optional(),
  }),
  z.strictObject({ delayMs: z.int().min(0).max(longestDelayMs) }),
  z.enum(['reset', 'truncate', 'drop-after-commit']),
])

const rule = z.strictObject({
  match: z
    .strictObject({
      method: z.string().optional(),
      path: z.string().startsWith('/').optional(),
      origin: z.enum(['auth', 'base']).optional(),
    })
    .optional(),
  effect,
  times: z.int().min(1).optional(),
})

/** A rule as JSON sent it, or undefined when it is not one: a misspelt member would be a fault that never comes. */
export function readFaultRule(value: unknown): FaultRule | undefined {
  return rule.safeParse(value).data as FaultRule | undefined
}
