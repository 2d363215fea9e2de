import type ts from 'typescript'
import { compiler } from '../typescript.ts'

/** One change of one place in a source file. */
export interface Mutant {
  /** Relative to the root of the repository. */
  readonly file: string
  readonly line: number
  /** The line as it stands, without its indentation. */
  readonly source: string
  readonly start: number
  readonly end: number
  readonly was: string
  readonly becomes: string
}

type Change = Pick<Mutant, 'becomes'> & { readonly node: ts.Node }
type Operator = (node: ts.Node, text: (node: ts.Node) => string) => Change | undefined

const swapped = new Map<ts.SyntaxKind, string>([
  [compiler.SyntaxKind.LessThanToken, '<='],
  [compiler.SyntaxKind.LessThanEqualsToken, '<'],
  [compiler.SyntaxKind.GreaterThanToken, '>='],
  [compiler.SyntaxKind.GreaterThanEqualsToken, '>'],
  [compiler.SyntaxKind.EqualsEqualsEqualsToken, '!=='],
  [compiler.SyntaxKind.ExclamationEqualsEqualsToken, '==='],
  [compiler.SyntaxKind.AmpersandAmpersandToken, '||'],
  [compiler.SyntaxKind.BarBarToken, '&&'],
  [compiler.SyntaxKind.QuestionQuestionToken, '&&'],
  [compiler.SyntaxKind.AsteriskToken, '/'],
  [compiler.SyntaxKind.SlashToken, '*'],
  [compiler.SyntaxKind.MinusToken, '+'],
])

/** What `npm run mutate -- --help` lists, by the name it has there. */
const operators: Record<string, Operator> = {
  condition: (node, text) => {
    const condition = conditionOf(node)
    // The other operators turn these round as well.
    if (condition && (isNegated(condition) || isEquality(condition))) return undefined
    return condition && { node: condition, becomes: `!(${text(condition)})` }
  },
  operator: (node) => {
    const becomes = compiler.isBinaryExpression(node) ? swapped.get(node.operatorToken.kind) : undefined
    return compiler.isBinaryExpression(node) && becomes !== undefined
      ? { node: node.operatorToken, becomes }
      : undefined
  },
  negation: (node, text) => (isNegated(node) ? { node, becomes: text(node.operand) } : undefined),
  statement: (node) =>
    compiler.isExpressionStatement(node) ||
    compiler.isThrowStatement(node) ||
    (compiler.isReturnStatement(node) && !node.expression)
      ? { node, becomes: ';' }
      : undefined,
  result: (node) => {
    if (compiler.isReturnStatement(node) && node.expression) return { node: node.expression, becomes: 'undefined' }
    if (!compiler.isArrowFunction(node) || compiler.isBlock(node.body)) return undefined
    return { node: node.body, becomes: 'undefined' }
  },
  literal: (node) => {
    if (node.kind === compiler.SyntaxKind.TrueKeyword) return { node, becomes: 'false' }
    if (node.kind === compiler.SyntaxKind.FalseKeyword) return { node, becomes: 'true' }
    if (compiler.isNumericLiteral(node)) return { node, becomes: String(Number(node.text) + 1) }
    // Sentences are for people: tests compare their codes.
    if (compiler.isStringLiteral(node) && /^\S+$/.test(node.text) && isValue(node)) return { node, becomes: "''" }
    return undefined
  },
}

/** Returns every mutant of a file, in the order of the text. Types, imports and sentences are left as they are. */
export function mutantsOf(file: string, content: string): Mutant[] {
  const source = compiler.createSourceFile(file, content, compiler.ScriptTarget.ES2022, true)
  const lines = content.split('\n')
  const text = (node: ts.Node): string => node.getText(source)
  const found: Mutant[] = []
  const visit = (node: ts.Node): void => {
    if (compiler.isTypeNode(node) || compiler.isImportDeclaration(node) || compiler.isInterfaceDeclaration(node)) return
    for (const operator of Object.values(operators)) {
      const change = operator(node, text)
      if (!change) continue
      const [start, end] = [change.node.getStart(source), change.node.end]
      if (content.slice(start, end) === change.becomes) continue
      const { line } = source.getLineAndCharacterOfPosition(start)
      const place = { file, line: line + 1, source: lines[line]?.trim() ?? '', start, end }
      found.push({ ...place, was: content.slice(start, end), becomes: change.becomes })
    }
    compiler.forEachChild(node, visit)
  }
  visit(source)
  return found
}

export function apply({ start, end, becomes }: Mutant, content: string): string {
  return content.slice(0, start) + becomes + content.slice(end)
}

function isNegated(node: ts.Node): node is ts.PrefixUnaryExpression {
  return compiler.isPrefixUnaryExpression(node) && node.operator === compiler.SyntaxKind.ExclamationToken
}

function isEquality(node: ts.Node): boolean {
  return compiler.isBinaryExpression(node) && /^[!=]==$/.test(compiler.tokenToString(node.operatorToken.kind) ?? '')
}

function conditionOf(node: ts.Node): ts.Expression | undefined {
  if (compiler.isIfStatement(node) || compiler.isWhileStatement(node)) return node.expression
  return compiler.isConditionalExpression(node) || compiler.isForStatement(node) ? node.condition : undefined
}

/** Whether a string is neither the name of a property nor of a module. */
function isValue(node: ts.StringLiteral): boolean {
  const { parent } = node
  return !compiler.isExportDeclaration(parent) && !(compiler.isPropertyAssignment(parent) && parent.name === node)
}
