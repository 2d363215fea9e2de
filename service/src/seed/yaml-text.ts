import type { Document, Node, ParsedNode } from 'yaml'
import type { ParsedText, Path, SeedFormat } from './parsed-text.ts'
import { SeedError } from './seed-error.ts'
import { seedLimits } from './seed-limits.ts'

// A static import would be carried out at every start of the bundled command, also without a seed.
const { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } = await import('yaml')

/**
 * Parses a seed in YAML 1.2, of which JSON is a part. Throws a SeedError for text that is none, for a cycle and for aliases that repeat
 * too much. It speaks of the format that the file names.
 */
export function parseYaml(text: string, format: SeedFormat): ParsedText {
  const lines = new LineCounter()
  const placeAt = (offset: number): string => {
    const { line, col } = lines.linePos(offset)
    return `${line}:${col}`
  }
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, stringKeys: true })
  const [problem] = [...document.errors, ...document.warnings]
  if (problem !== undefined) {
    const isTemplate = problem.code === 'NON_STRING_KEY' && text.slice(problem.pos[0] - 1, problem.pos[1]) === '{{'
    throw new SeedError(isTemplate ? bareTemplate : problemText(problem.message, format), {
      place: placeAt(isTemplate ? problem.pos[0] - 1 : problem.pos[0]),
    })
  }
  const anchors = checkAliases(document, placeAt)
  return {
    value: document.toJS({ maxAliasCount: -1 }),
    placeOf: (path) => placeAt(offsetIn(document.contents, path, anchors)),
  }
}

const bareTemplate = 'not valid YAML: write a text that begins with { in quotes, such as "{{ … }}"'

function problemText(message: string, format: SeedFormat): string {
  if (message.startsWith('Maximum call stack')) return tooDeep
  if (message.startsWith('Source contains multiple documents'))
    return `not valid ${format}: write one document, without ---`
  const named = message
    .replace(`Missing closing "quote`, 'Missing closing double quote')
    .replace("'quote", 'single quote')
  // What follows a quote, or a colon without a space before it, may be a piece of the file, such as a secret.
  const known = named.split(/(?<! ):|"/)[0] ?? ''
  return `not valid ${format}: ${format === 'JSON' ? inWordsOfJson(known) : known}`
}

function inWordsOfJson(problem: string): string {
  return problem
    .replace(/ in block collection| be sufficiently indented and/g, '')
    .replace(/flow map/i, 'object')
    .replace(/flow sequence/i, 'list')
}

const tooDeep = `nested deeper than ${seedLimits.depth} levels`

type Anchors = Map<string, Node>

/**
 * Returns the nodes that aliases name. Throws for an alias of a node around it, and where aliases make too large a value
 * (`yamlNodes`, 1,000,000). Levels: `seedLimits.depth`, 32.
 */
function checkAliases(document: Document.Parsed, placeAt: (offset: number) => string): Anchors {
  const anchors: Anchors = new Map()
  const sizes = new Map<unknown, number>()
  const around = new Set<unknown>()
  const fail = (node: Node, problem: string): never => {
    throw new SeedError(problem, { place: placeAt(node.range?.[0] ?? 0) })
  }
  function sizeOf(node: unknown): number {
    if (isAlias(node)) {
      const target = anchors.get(node.source)
      if (target === undefined) return fail(node, 'this alias has no anchor before it')
      if (around.has(target))
        return fail(node, 'this alias is inside of what it stands for, so the data would have no end')
      return sizes.get(target) ?? 1
    }
    if (!isMap(node) && !isSeq(node) && !isScalar(node)) return 1
    if (node.anchor !== undefined) anchors.set(node.anchor, node)
    around.add(node)
    if (around.size > seedLimits.depth + 1) return fail(node, tooDeep)
    let size = 1
    if (isMap(node)) for (const { value } of node.items) size += sizeOf(value)
    if (isSeq(node)) for (const item of node.items) size += sizeOf(item)
    around.delete(node)
    sizes.set(node, size)
    return size > seedLimits.yamlNodes
      ? fail(node, 'aliases repeat too much; write the values, or a seed in JSON')
      : size
  }
  sizeOf(document.contents)
  return anchors
}

/** Returns the offset of the member or item at this path, or of the nearest one around it. */
function offsetIn(contents: ParsedNode | null, path: Path, anchors: Anchors): number {
  let node: unknown = contents
  let offset = 0
  for (const step of path) {
    if (isAlias(node)) node = anchors.get(node.source)
    const pair = isMap(node) ? node.items.find(({ key }) => isScalar(key) && key.value === step) : undefined
    const item = isSeq(node) ? node.items[Number(step)] : undefined
    const found = (pair?.key ?? item) as Node | undefined
    if (found === undefined) break
    offset = found.range?.[0] ?? offset
    node = pair === undefined ? item : pair.value
  }
  return offset
}
