import { fileURLToPath } from 'node:url'
import type ts from 'typescript'
import { compiler } from '../../scripts/typescript.ts'
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
  const source = parse(`${root}${file}`)
  const visit = (node: ts.Node): void => {
    const name = compiler.isCallExpression(node) ? rootName(node.expression) : ''
    if (compiler.isCallExpression(node) && /^(?:test|it|describe)$/.test(name)) {
      const [title] = node.arguments
      if (title && (compiler.isStringLiteralLike(title) || compiler.isTemplateExpression(title)))
        found.push(asTitle(file, title.getText(source).slice(1, -1), name !== 'describe'))
    }
    compiler.forEachChild(node, visit)
  }
  visit(source)
  return found
}

/** `it` of `it(…)`, `it.each(…)(…)`, `test.fails(…)`. */
function rootName(callee: ts.Expression): string {
  if (compiler.isIdentifier(callee)) return callee.text
  if (compiler.isPropertyAccessExpression(callee) || compiler.isCallExpression(callee))
    return rootName(callee.expression)
  return ''
}
