import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import ts from 'typescript'
import { parse, sourceFiles } from '../test/support/source-graph.ts'

const help = `Usage: npm run trace [-- --rows]

Says which rows of the requirements the test titles name (C-034, F048, S-012, P-13 …) and which rows of test/rows.json, the
core MUST rows of the client, no title names.

  --rows   also the titles of each row
  --help   this text

Exit code 0: every core row has a test, 1: some have none.
`

const root = fileURLToPath(new URL('../', import.meta.url))
const rowId = /\b(?:[CSPF]-\d{2,3}|F\d{3})\b/g

const { values: flags } = parseArgs({ options: { rows: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } } })

if (flags.help) process.stdout.write(help)
else process.exitCode = main()

function main(): number {
  const core = JSON.parse(readFileSync(`${root}test/rows.json`, 'utf8')) as Record<string, string>
  const named = titlesByRow()
  const missing = Object.keys(core).filter((row) => !named.has(row))
  const beyond = [...named.keys()].filter((row) => !(row in core)).sort()

  const lines = [
    ...(flags.rows ? [...named.keys()].sort().flatMap((row) => [row, ...indented(named.get(row) ?? [])]) : []),
    `core rows with a test: ${Object.keys(core).length - missing.length} of ${Object.keys(core).length}`,
    `other rows with a test: ${beyond.length === 0 ? 'none' : beyond.join(' ')}`,
    ...(missing.length === 0 ? [] : ['core rows without a test:']),
    ...indented(missing.map((row) => `${row}  ${core[row]}`)),
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
  return missing.length > 0 ? 1 : 0
}

function titlesByRow(): Map<string, string[]> {
  const rows = new Map<string, string[]>()
  for (const folder of ['test', 'service/test']) {
    const tests = sourceFiles(`${root}${folder}`).filter((file) => /\.test\.tsx?$/.test(file))
    for (const title of tests.flatMap((file) => titles(`${root}${folder}/${file}`))) {
      for (const [row] of title.matchAll(rowId)) rows.set(row, [...(rows.get(row) ?? []), title])
    }
  }
  return rows
}

/** First arguments of `test`, `it` and their variants. A `describe` names a theme: its tests name their rows themselves. */
function titles(file: string): string[] {
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && /^(?:test|it)$/.test(rootName(node.expression))) {
      const [title] = node.arguments
      if (title && (ts.isStringLiteralLike(title) || ts.isTemplateExpression(title)))
        found.push(title.getText().slice(1, -1))
    }
    ts.forEachChild(node, visit)
  }
  visit(parse(file))
  return found
}

/** `it` of `it(…)`, `it.each(…)(…)`, `test.fails(…)`. */
function rootName(callee: ts.Expression): string {
  if (ts.isIdentifier(callee)) return callee.text
  if (ts.isPropertyAccessExpression(callee) || ts.isCallExpression(callee)) return rootName(callee.expression)
  return ''
}

function indented(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`)
}
