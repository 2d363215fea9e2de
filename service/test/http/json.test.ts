import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anyText } from '../../../test/support/any-text.ts'
import { leastMs } from '../../../test/support/least-ms.ts'
import { runs } from '../../../test/support/runs.ts'
import { type JsonResult, type JsonRules, parseJson } from '../../src/http/json.ts'

const { numRuns, options } = runs(2_000, 1_000_000)

/** A value as it is to be written: the members of an object in order, and as often as they come. */
type Written =
  | { readonly kind: 'plain'; readonly value: string | number | boolean | null }
  | { readonly kind: 'list'; readonly items: readonly Written[] }
  | { readonly kind: 'object'; readonly members: readonly (readonly [name: string, value: Written])[] }

const text = fc.oneof(
  fc.constantFrom('a', 'b', '__proto__', '{"a":1}', '[', '}', '"', '\\', '\\"', ',', ':', ''),
  anyText(5),
)
const plain = fc
  .oneof(text, fc.integer(), fc.boolean(), fc.constant(null))
  .map((value): Written => ({ kind: 'plain', value }))
const { tree } = fc.letrec<{ tree: Written }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 6, depthSize: 'medium' },
    plain,
    fc.array(tie('tree'), { maxLength: 4 }).map((items): Written => ({ kind: 'list', items })),
    fc.array(fc.tuple(text, tie('tree')), { maxLength: 4 }).map((members): Written => ({ kind: 'object', members })),
  ),
}))

/** With every character of a string plain or as an escape, so that equal names can look different. */
function quoted(value: string, spelling: number): string {
  const units = Array.from({ length: value.length }, (_, at) => value.charCodeAt(at))
  const escaped = units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')
  return spelling % 2 === 0 ? JSON.stringify(value) : `"${escaped}"`
}

interface Outcome {
  readonly json: string
  /** What is wrong first, in the order of the text. */
  readonly fault: JsonResult | undefined
}

function write(value: Written, { maxDepth, repeatedMembers }: JsonRules, spelling: number, depth = 1): Outcome {
  if (value.kind === 'plain') {
    const json = typeof value.value === 'string' ? quoted(value.value, spelling) : JSON.stringify(value.value)
    return { json, fault: undefined }
  }
  const below = (one: Written, at: number) => write(one, { maxDepth, repeatedMembers }, spelling + at, depth + 1)
  let fault: JsonResult | undefined = depth > maxDepth ? { kind: 'too_deep' } : undefined
  if (value.kind === 'list') {
    const items = value.items.map(below)
    return {
      json: `[ ${items.map(({ json }) => json).join(' ,\n')}]`,
      fault: fault ?? items.find((one) => one.fault)?.fault,
    }
  }
  const names = new Set<string>()
  const parts = value.members.map(([name, member], at) => {
    const inner = below(member, at)
    if (repeatedMembers === 'refuse' && names.has(name)) fault ??= { kind: 'repeated', member: name }
    names.add(name)
    fault ??= inner.fault
    return `${quoted(name, spelling + at)} :${inner.json}`
  })
  return { json: `{${parts.join(', ')}\t}`, fault }
}

const rules = fc.record({
  maxDepth: fc.integer({ min: 1, max: 5 }),
  repeatedMembers: fc.constantFrom('refuse', 'last'),
})

test('JSON is read as JSON.parse reads it; what nests too deep or repeats a member is refused', options, () => {
  fc.assert(
    fc.property(tree, rules, fc.nat(1), (value, rule, spelling) => {
      const { json, fault } = write(value, rule as JsonRules, spelling)
      expect({ json, result: parseJson(json, rule as JsonRules) }).toEqual({
        json,
        result: fault ?? { kind: 'value', value: JSON.parse(json) },
      })
    }),
    { numRuns },
  )
})

test('any text: malformed when JSON.parse says so, and nothing is thrown', options, () => {
  const pieces = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    '"',
    '"',
    '\\',
    ',',
    ':',
    '1',
    'a',
    'true',
    ' ',
    '\n',
    '\u0000',
    '\ufeff',
  )
  const any = fc.oneof(
    fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join('')),
    anyText(20),
    fc
      .tuple(fc.json({ maxDepth: 3 }), fc.nat(30), pieces)
      .map(([json, at, put]) => json.slice(0, at) + put + json.slice(at)),
  )
  const expected = (json: string): JsonResult => {
    try {
      return { kind: 'value', value: JSON.parse(json) }
    } catch {
      return { kind: 'malformed' }
    }
  }
  fc.assert(
    fc.property(any, (json) => {
      const read = parseJson(json, { maxDepth: 99, repeatedMembers: 'last' })
      expect({ json, read }).toEqual({ json, read: expected(json) })
    }),
    { numRuns },
  )
})

test.each(['[', '{"a":', '"', '\\', '[],', '{"a":1},', '"a":1,', '1,', ' '])(
  'the largest body of %j takes less than 50 ms',
  async (unit) => {
    for (const [most, repeatedMembers] of [
      [262_144, 'last'],
      [16_384, 'refuse'],
    ] as const) {
      const long = unit.repeat(Math.floor(most / unit.length) - 1)
      const shapes = [long, `[${long}1]`, `{${long}"b":1}`, `"${long}"`, `[${long}{}]`]
      for (const json of shapes)
        expect(await leastMs(() => parseJson(json, { maxDepth: 32, repeatedMembers }))).toBeLessThan(50)
    }
  },
)
