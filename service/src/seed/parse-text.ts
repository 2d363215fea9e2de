import { inMebibytes } from '../byte-count.ts'
import { offsetOf, problemIn } from './json-places.ts'
import type { ParsedText, SeedFormat } from './parsed-text.ts'
import { pathText, SeedError } from './seed-error.ts'
import { seedLimits } from './seed-limits.ts'

/** Parses a seed in JSON or YAML. Text that is no JSON is read as YAML, with any file name. Messages speak of the format. */
export async function parseText(text: string, format: SeedFormat): Promise<ParsedText> {
  if (text.trim() === '') throw new SeedError('the file is empty')
  const json = jsonOf(text)
  if (json === undefined) return parseAsYaml(text, format)
  const problem = problemIn(text)
  if (problem !== undefined)
    throw new SeedError(problem.text, { place: placeAt(text, problem.offset), path: pathText(problem.path) })
  return { value: json.value, placeOf: (path) => placeAt(text, offsetOf(text, path)) }
}

function jsonOf(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

/** Parses YAML, which takes a hundred times as long as JSON (`yamlBytes`, 4 MiB). */
async function parseAsYaml(text: string, format: SeedFormat): Promise<ParsedText> {
  if (text.length > seedLimits.yamlBytes) {
    const orYaml = `neither valid JSON, nor YAML of at most ${inMebibytes(seedLimits.yamlBytes)}`
    throw new SeedError(format === 'JSON' ? 'not valid JSON' : orYaml)
  }
  // The parser of YAML is loaded for such a seed only, because loading modules takes most of a start.
  const { parseYaml } = await import('./yaml-text.ts')
  return parseYaml(text, format)
}

function placeAt(text: string, offset: number): string {
  const before = text.slice(0, offset)
  return `${before.split('\n').length}:${offset - before.lastIndexOf('\n')}`
}
