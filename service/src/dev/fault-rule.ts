import type { Check } from '../check-shape.ts'
import { isRecord, isText, oneOf, optional, wholeNumber } from '../check-shape.ts'
import { toolLimits } from '../limits.ts'
import { unknownNameText } from '../near-name.ts'
import type { FaultRule } from '../state/faults.ts'

/**
 * The members of an object, each with its check and with the values that the message names. A delay may be `faultDelayMs`, 60 s
 * long.
 */
type Members = Record<string, [check: Check, allowed: string]>

const effectNames = ['reset', 'truncate', 'drop-after-commit']
const effectText = `reset, truncate, drop-after-commit, {"status": 200 to 599} or {"delayMs": 0 to ${toolLimits.faultDelayMs}}`

const rule: Members = {
  match: [optional(isRecord), 'an object with method, path or origin'],
  effect: [(effect) => isRecord(effect) || oneOf(...effectNames)(effect), effectText],
  times: [optional(wholeNumber(1)), 'a whole number from 1'],
}
const match: Members = {
  method: [optional(isText), 'a string such as POST'],
  path: [optional(isPathOrBeginning), 'a string that begins with /, with * only at its end'],
  origin: [optional(oneOf('auth', 'base')), 'auth or base'],
}
const response: Members = {
  status: [wholeNumber(200, 599), 'a whole number from 200 to 599'],
  body: [() => true, 'any value'],
  headers: [optional(isHeaders), 'an object of header names and ASCII strings'],
}
const delay: Members = {
  delayMs: [wholeNumber(0, toolLimits.faultDelayMs), `a whole number from 0 to ${toolLimits.faultDelayMs}`],
}

/** Returns the rule. Throws a TypeError that names the wrong member, because a misspelt one would be a fault that never happens. */
export function readFaultRule(value: unknown): FaultRule {
  const problem = isRecord(value) ? ruleProblem(value) : 'send {"match": {…}, "effect": …, "times": n}'
  if (problem !== undefined) throw new TypeError(problem)
  return value as unknown as FaultRule
}

function ruleProblem(value: Record<string, unknown>): string | undefined {
  const { match: matched = {}, effect } = value
  const problem = memberProblem(value, rule, '') ?? memberProblem(matched, match, 'match.')
  if (problem !== undefined || !isRecord(effect)) return problem
  if (!('status' in effect) && !('delayMs' in effect)) return `effect must be ${effectText}`
  return memberProblem(effect, 'delayMs' in effect ? delay : response, 'effect.')
}

function memberProblem(value: unknown, members: Members, place: string): string | undefined {
  const object = isRecord(value) ? value : {}
  const unknown = Object.keys(object).find((name) => !Object.hasOwn(members, name))
  if (unknown !== undefined) return `${place}${unknownNameText(unknown, Object.keys(members))}`
  const wrong = Object.entries(members).find(([name, [check]]) => !check(object[name]))
  return wrong && `${place}${wrong[0]} must be ${wrong[1][1]}`
}

function isPathOrBeginning(path: unknown): boolean {
  return isText(path) && /^\/[^*]*\*?$/.test(path)
}

function isHeaders(value: unknown): boolean {
  const isHeader = ([name, text]: [string, unknown]) =>
    /^[A-Za-z0-9-]+$/.test(name) && isText(text) && /^[\x20-\x7e]*$/.test(text)
  return isRecord(value) && Object.entries(value).every(isHeader)
}
