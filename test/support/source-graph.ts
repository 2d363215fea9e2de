import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import type ts from 'typescript'
import { compiler } from '../../scripts/typescript.ts'

export interface Import {
  /** The importing file, relative to the source folder. */
  readonly from: string
  readonly specifier: string
  /** The imported file when it is one of the same folder tree. */
  readonly to: string | undefined
  /** Gone after compilation. */
  readonly typeOnly: boolean
}

export function sourceFiles(folder: string): string[] {
  return filesBelow(folder, '')
    .filter((file) => /\.tsx?$/.test(file))
    .sort()
}

function filesBelow(folder: string, path: string): string[] {
  return readdirSync(join(folder, path), { withFileTypes: true }).flatMap((entry) => {
    if (!entry.isDirectory()) return [path + entry.name]
    return entry.name === 'node_modules' ? [] : filesBelow(folder, `${path}${entry.name}/`)
  })
}

/** Every import, re-export and dynamic import of one file. */
export function importsOf(from: string, source: ts.SourceFile): Import[] {
  const found: Import[] = []
  const add = (specifier: ts.Node | undefined, typeOnly: boolean): void => {
    if (!specifier || !compiler.isStringLiteral(specifier)) return
    const { text } = specifier
    const to = text.startsWith('.') ? posix.join(posix.dirname(from), text) : undefined
    found.push({ from, specifier: text, to, typeOnly })
  }
  const visit = (node: ts.Node): void => {
    if (compiler.isImportDeclaration(node)) add(node.moduleSpecifier, isTypeOnlyImport(node.importClause))
    else if (compiler.isExportDeclaration(node)) add(node.moduleSpecifier, isTypeOnlyExport(node))
    else if (compiler.isImportTypeNode(node) && compiler.isLiteralTypeNode(node.argument))
      add(node.argument.literal, true)
    else if (compiler.isCallExpression(node) && node.expression.kind === compiler.SyntaxKind.ImportKeyword)
      add(node.arguments[0], false)
    compiler.forEachChild(node, visit)
  }
  visit(source)
  return found
}

export function lineCount(text: string): number {
  return text.trimEnd().split('\n').length
}

/** Every function with a body, with the number of lines it takes. */
export function functionsOf(source: ts.SourceFile): { name: string; lines: number }[] {
  const found: { name: string; lines: number }[] = []
  const visit = (node: ts.Node): void => {
    if (compiler.isFunctionLike(node) && 'body' in node && node.body) {
      const [first, last] = [node.getStart(source), node.end].map((at) => source.getLineAndCharacterOfPosition(at).line)
      found.push({ name: node.name?.getText(source) ?? 'anonymous', lines: (last ?? 0) - (first ?? 0) + 1 })
    }
    compiler.forEachChild(node, visit)
  }
  visit(source)
  return found
}

/** The string literals of a closed union type, as `type Name = 'a' | 'b'`. */
export function unionMembers(file: string, typeName: string): string[] {
  const members: string[] = []
  compiler.forEachChild(parse(file), (node) => {
    if (!compiler.isTypeAliasDeclaration(node) || node.name.text !== typeName || !compiler.isUnionTypeNode(node.type))
      return
    for (const member of node.type.types) {
      if (compiler.isLiteralTypeNode(member) && compiler.isStringLiteral(member.literal))
        members.push(member.literal.text)
    }
  })
  return members
}

/** Each cycle once, as the path that closes it. */
export function cycles(imports: readonly Import[]): string[] {
  const found = new Set<string>()
  const done = new Set<string>()
  const walk = (file: string, path: readonly string[]): void => {
    const start = path.indexOf(file)
    if (start !== -1) found.add([...path.slice(start), file].join(' → '))
    if (start !== -1 || done.has(file)) return
    for (const { to } of imports.filter(({ from }) => from === file)) if (to) walk(to, [...path, file])
    done.add(file)
  }
  for (const { from } of imports) walk(from, [])
  return [...found]
}

/** The file and everything it imports, directly or not. */
export function reachable(imports: readonly Import[], file: string): Set<string> {
  const seen = new Set([file])
  for (const at of seen) for (const { from, to } of imports) if (from === at && to) seen.add(to)
  return seen
}

/** Returns the statements of a file, without their parents and without what comments say. */
export function parse(file: string): ts.SourceFile {
  const { ScriptTarget, JSDocParsingMode } = compiler
  const options = { languageVersion: ScriptTarget.ES2022, jsDocParsingMode: JSDocParsingMode.ParseNone }
  return compiler.createSourceFile(file, readFileSync(file, 'utf8'), options)
}

function isTypeOnlyImport(clause: ts.ImportClause | undefined): boolean {
  if (!clause) return false
  if (clause.phaseModifier === compiler.SyntaxKind.TypeKeyword) return true
  const { namedBindings } = clause
  if (clause.name || !namedBindings || !compiler.isNamedImports(namedBindings)) return false
  return namedBindings.elements.every((element) => element.isTypeOnly)
}

function isTypeOnlyExport(node: ts.ExportDeclaration): boolean {
  if (node.isTypeOnly) return true
  const { exportClause } = node
  return (
    !!exportClause &&
    compiler.isNamedExports(exportClause) &&
    exportClause.elements.every((element) => element.isTypeOnly)
  )
}
