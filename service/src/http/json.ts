export type JsonResult =
  | { kind: 'value'; value: unknown }
  | { kind: 'malformed' }
  | { kind: 'too_deep' }
  | { kind: 'repeated'; member: string }

export interface JsonRules {
  maxDepth: number
  repeatedMembers: 'refuse' | 'last'
}

interface Frame {
  /** The member names seen in an object where they must differ. */
  names: Set<string> | undefined
  awaitsName: boolean
}

/** Parses JSON, and reports two things that JSON.parse does not: nesting beyond a depth, and a repeated member. */
export function parseJson(text: string, { maxDepth, repeatedMembers }: JsonRules): JsonResult {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { kind: 'malformed' }
  }
  return inspect(text, maxDepth, repeatedMembers) ?? { kind: 'value', value }
}

/** Reads a text that is known to be JSON, character by character. */
function inspect(text: string, maxDepth: number, repeated: JsonRules['repeatedMembers']): JsonResult | undefined {
  const frames: Frame[] = []
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index]
    const frame = frames.at(-1)
    if (character === '"') {
      const end = endOfString(text, index)
      if (frame?.names !== undefined && frame.awaitsName) {
        const name: string = JSON.parse(text.slice(index, end + 1))
        if (frame.names.has(name)) return { kind: 'repeated', member: name }
        frame.names.add(name)
        frame.awaitsName = false
      }
      index = end
    } else if (character === '{' || character === '[') {
      if (frames.length >= maxDepth) return { kind: 'too_deep' }
      frames.push({ names: character === '{' && repeated === 'refuse' ? new Set() : undefined, awaitsName: true })
    } else if (character === '}' || character === ']') frames.pop()
    else if (character === ',' && frame !== undefined) frame.awaitsName = true
  }
  return undefined
}

function endOfString(text: string, start: number): number {
  let index = start + 1
  while (text[index] !== '"') index += text[index] === '\\' ? 2 : 1
  return index
}
