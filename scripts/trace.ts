import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { parse, sourceFiles } from '../test/support/source-graph.ts'
import { runCommand } from './flags.ts'

const help = `Usage: npm run trace [-- --rows]

Says which rows of the requirements the test titles name (C-034, F048, S-012, P-13 …) and which of the rows that must have
a test no title names: those of test/rows.json, C-rows of the client and S-rows of the service.

  --rows   also the titles of each row
  --help   this text

Exit codes: 0 every row of the two lists has a test, 1 some have none, 2 the arguments are wrong.
`

const root = fileURLToPath(new URL('../', import.meta.url))
/** Whose rows test/rows.json lists, by the beginning of their ids. */
const owners = { 'C-': 'client', 'S-': 'service' }
const rowId = /\b(?:[CSPF]-\d{2,3}|F\d{3})\b/g

await runCommand({ name: 'trace', help, options: { rows: { type: 'boolean' } } }, main)

function main(flags: { rows?: boolean }): number {
  const rows = Object.entries(JSON.parse(readFileSync(`${root}test/rows.json`, 'utf8')) as Record<string, string>)
  const named = titlesByRow()
  const lists = Object.entries(owners).map(([prefix, owner]) => {
    return { owner, rows: rows.filter(([row]) => row.startsWith(prefix)) }
  })
  const beyond = [...named.keys()].filter((row) => !rows.some(([id]) => id === row)).sort()
  const missing = rows.filter(([row]) => !named.has(row))

  const lines = [
    ...(flags.rows ? [...named.keys()].sort().flatMap((row) => [row, ...indented(named.get(row) ?? [])]) : []),
    ...lists.map(({ owner, rows }) => {
      return `${owner} rows with a test: ${rows.filter(([row]) => named.has(row)).length} of ${rows.length}`
    }),
    `other rows with a test: ${beyond.length === 0 ? 'none' : beyond.join(' ')}`,
    ...(missing.length === 0 ? [] : ['rows without a test:']),
    ...indented(missing.map(([row, sentence]) => `${row}  ${sentence}`)),
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
        found.push(...filled(title.getText().slice(1, -1), node.expression))
    }
    ts.forEachChild(node, visit)
  }
  visit(parse(file))
  return found
}

/** A title that begins with the table's first column is as many titles as the table has rows. */
function filled(title: string, callee: ts.Expression): string[] {
  const [table] = ts.isCallExpression(callee) ? callee.arguments : []
  if (!title.startsWith('%s') || !table || !ts.isArrayLiteralExpression(table)) return [title]
  return table.elements.map((row) => {
    const first = ts.isArrayLiteralExpression(row) ? row.elements[0] : row
    return first && ts.isStringLiteralLike(first) ? title.replace('%s', first.text) : title
  })
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
