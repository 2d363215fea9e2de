import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { parse, sourceFiles } from './source-graph.ts'

export interface Title {
  /** Relative to the root of the repository. */
  readonly file: string
  readonly title: string
  /** What the title says before its ids. */
  readonly sentence: string
  /** What stands in brackets at its end. */
  readonly ids: readonly string[]
  /** Or a `describe`. */
  readonly isTest: boolean
}

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Returns the titles of all tests and themes of `test/` and `service/test/`, also of those that tests share. */
export function testTitles(): Title[] {
  return ['test', 'service/test'].flatMap((folder) =>
    sourceFiles(`${root}${folder}`).flatMap((file) => titlesOf(`${folder}/${file}`)),
  )
}

export function asTitle(file: string, title: string, isTest = true): Title {
  const [, sentence = title, ids = ''] = /^(.*) \[((?:[A-Z]-?\d+ ?)+)\]$/s.exec(title) ?? []
  return { file, title, sentence, ids: ids.split(' ').filter((id) => id !== ''), isTest }
}

/** First arguments of `test`, `it`, `describe` and their variants. */
function titlesOf(file: string): Title[] {
  const found: Title[] = []
  const visit = (node: ts.Node): void => {
    const name = ts.isCallExpression(node) ? rootName(node.expression) : ''
    if (ts.isCallExpression(node) && /^(?:test|it|describe)$/.test(name)) {
      const [title] = node.arguments
      if (title && (ts.isStringLiteralLike(title) || ts.isTemplateExpression(title)))
        found.push(asTitle(file, title.getText().slice(1, -1), name !== 'describe'))
    }
    ts.forEachChild(node, visit)
  }
  visit(parse(`${root}${file}`))
  return found
}

/** `it` of `it(…)`, `it.each(…)(…)`, `test.fails(…)`. */
function rootName(callee: ts.Expression): string {
  if (ts.isIdentifier(callee)) return callee.text
  if (ts.isPropertyAccessExpression(callee) || ts.isCallExpression(callee)) return rootName(callee.expression)
  return ''
}
