import ts from 'typescript'

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
  [ts.SyntaxKind.LessThanToken, '<='],
  [ts.SyntaxKind.LessThanEqualsToken, '<'],
  [ts.SyntaxKind.GreaterThanToken, '>='],
  [ts.SyntaxKind.GreaterThanEqualsToken, '>'],
  [ts.SyntaxKind.EqualsEqualsEqualsToken, '!=='],
  [ts.SyntaxKind.ExclamationEqualsEqualsToken, '==='],
  [ts.SyntaxKind.AmpersandAmpersandToken, '||'],
  [ts.SyntaxKind.BarBarToken, '&&'],
  [ts.SyntaxKind.QuestionQuestionToken, '&&'],
  [ts.SyntaxKind.AsteriskToken, '/'],
  [ts.SyntaxKind.SlashToken, '*'],
  [ts.SyntaxKind.MinusToken, '+'],
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
    const becomes = ts.isBinaryExpression(node) ? swapped.get(node.operatorToken.kind) : undefined
    return ts.isBinaryExpression(node) && becomes !== undefined ? { node: node.operatorToken, becomes } : undefined
  },
  negation: (node, text) => (isNegated(node) ? { node, becomes: text(node.operand) } : undefined),
  statement: (node) =>
    ts.isExpressionStatement(node) || ts.isThrowStatement(node) || (ts.isReturnStatement(node) && !node.expression)
      ? { node, becomes: ';' }
      : undefined,
  result: (node) => {
    if (ts.isReturnStatement(node) && node.expression) return { node: node.expression, becomes: 'undefined' }
    if (!ts.isArrowFunction(node) || ts.isBlock(node.body)) return undefined
    return { node: node.body, becomes: 'undefined' }
  },
  literal: (node) => {
    if (node.kind === ts.SyntaxKind.TrueKeyword) return { node, becomes: 'false' }
    if (node.kind === ts.SyntaxKind.FalseKeyword) return { node, becomes: 'true' }
    if (ts.isNumericLiteral(node)) return { node, becomes: String(Number(node.text) + 1) }
    // Sentences are for people: tests compare their codes.
    if (ts.isStringLiteral(node) && /^\S+$/.test(node.text) && isValue(node)) return { node, becomes: "''" }
    return undefined
  },
}

/** Returns every mutant of a file, in the order of the text. Types, imports and sentences are left as they are. */
export function mutantsOf(file: string, content: string): Mutant[] {
  const source = ts.createSourceFile(file, content, ts.ScriptTarget.ES2022, true)
  const lines = content.split('\n')
  const text = (node: ts.Node): string => node.getText(source)
  const found: Mutant[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isInterfaceDeclaration(node)) return
    for (const operator of Object.values(operators)) {
      const change = operator(node, text)
      if (!change) continue
      const [start, end] = [change.node.getStart(source), change.node.end]
      if (content.slice(start, end) === change.becomes) continue
      const { line } = source.getLineAndCharacterOfPosition(start)
      const place = { file, line: line + 1, source: lines[line]?.trim() ?? '', start, end }
      found.push({ ...place, was: content.slice(start, end), becomes: change.becomes })
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

export function apply({ start, end, becomes }: Mutant, content: string): string {
  return content.slice(0, start) + becomes + content.slice(end)
}

function isNegated(node: ts.Node): node is ts.PrefixUnaryExpression {
  return ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken
}

function isEquality(node: ts.Node): boolean {
  return ts.isBinaryExpression(node) && /^[!=]==$/.test(ts.tokenToString(node.operatorToken.kind) ?? '')
}

function conditionOf(node: ts.Node): ts.Expression | undefined {
  if (ts.isIfStatement(node) || ts.isWhileStatement(node)) return node.expression
  return ts.isConditionalExpression(node) || ts.isForStatement(node) ? node.condition : undefined
}

/** Whether a string is neither the name of a property nor of a module. */
function isValue(node: ts.StringLiteral): boolean {
  const { parent } = node
  return !ts.isExportDeclaration(parent) && !(ts.isPropertyAssignment(parent) && parent.name === node)
}
