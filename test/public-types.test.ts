import { fileURLToPath } from 'node:url'
import type ts from 'typescript'
import { expect, test } from 'vitest'
import { compiler } from '../scripts/typescript.ts'
import tsup from '../tsup.config.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
const entries = [...Object.values(tsup.entry as Record<string, string>), 'service/src/index.ts'].map(
  (file) => root + file,
)
const { options } = compiler.parseJsonConfigFileContent(
  compiler.readConfigFile(`${root}tsconfig.json`, compiler.sys.readFile).config,
  // None of the files of the project, which are many, but the entries.
  { ...compiler.sys, readDirectory: () => [] },
  root,
)
const { ParseAll, ParseNone } = compiler.JSDocParsingMode
const host = compiler.createCompilerHost(options)
const { getSourceFile } = host
host.getSourceFile = (path, language, ...rest) => {
  // React's names of CSS properties are an eighth of what would be parsed, and no type of ours.
  if (path.includes('/node_modules/csstype/')) return compiler.createSourceFile(path, 'export {}', language)
  const jsDocParsingMode = path.includes('/node_modules/') ? ParseNone : ParseAll
  const settings = typeof language === 'object' ? language : { languageVersion: language }
  return getSourceFile(path, { ...settings, jsDocParsingMode }, ...rest)
}
const program = compiler.createProgram(entries, options, host)
const checker = program.getTypeChecker()

interface Exported {
  readonly name: string
  readonly symbol: ts.Symbol
}

/** Each export of each entry once, by the name of the entry and its own. */
function exported(): Exported[] {
  return entries.flatMap((entry) => {
    const source = program.getSourceFile(entry)
    const module = source && checker.getSymbolAtLocation(source)
    return (module ? checker.getExportsOfModule(module) : []).map((symbol) => ({
      name: `${entry.slice(root.length)} ${symbol.name}`,
      symbol: symbol.flags & compiler.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol,
    }))
  })
}

const all = exported()

const isOwn = (node: ts.Node | undefined): node is ts.Node =>
  !!node && node.getSourceFile().fileName.startsWith(root) && !/node_modules/.test(node.getSourceFile().fileName)

/** The members that our own code declares in a type, in each part of a union or intersection, and what they are. */
function membersOf(type: ts.Type): ts.Symbol[] {
  if (type.isUnionOrIntersection()) return [...new Set(type.types.flatMap(membersOf))]
  return type.getProperties().filter((member) => isOwn(member.valueDeclaration))
}

function isType({ symbol }: Exported): boolean {
  return (
    (symbol.flags & (compiler.SymbolFlags.Interface | compiler.SymbolFlags.TypeAlias | compiler.SymbolFlags.Class)) !==
    0
  )
}

/** The types that callers make and the library reads: those called options, and what the functions take. */
function inputs(): { name: string; type: ts.Type }[] {
  const named = all
    .filter((each) => isType(each) && /(Options|Props|Fault(Rule|Match|Effect))$/.test(each.name))
    .map(({ name, symbol }) => ({ name, type: checker.getDeclaredTypeOfSymbol(symbol) }))
  const taken = all
    .filter(({ symbol }) => symbol.flags & compiler.SymbolFlags.Function)
    .flatMap(({ name, symbol }) =>
      checker
        .getTypeOfSymbol(symbol)
        .getCallSignatures()
        .flatMap((signature) => signature.parameters)
        .map((parameter) => ({ name: `${name}(${parameter.name})`, type: checker.getTypeOfSymbol(parameter) }))
        .filter(({ type }) => type.symbol?.name === '__type'),
    )
  return [...named, ...taken]
}

test('every optional member of every options type accepts undefined', () => {
  const strict = inputs().flatMap(({ name, type }) =>
    membersOf(type)
      .filter((member) => member.flags & compiler.SymbolFlags.Optional && !acceptsUndefined(member))
      .map((member) => `${name}.${member.name}`),
  )
  expect(strict).toEqual([])
  expect(inputs().length).toBeGreaterThan(20)
})

/** As it is written: the checker adds undefined to the type of every optional member. */
function acceptsUndefined({ valueDeclaration }: ts.Symbol): boolean {
  const node = (valueDeclaration as ts.PropertySignature | undefined)?.type
  const type = node && checker.getTypeFromTypeNode(node)
  const parts = type?.isUnion() ? type.types : [type]
  return parts.some(
    (part) => part !== undefined && (part.flags & (compiler.TypeFlags.Undefined | compiler.TypeFlags.Unknown)) !== 0,
  )
}

test('every exported name, and every member of an exported type, has a docstring', () => {
  const isDocumented = (symbol: ts.Symbol): boolean => symbol.getDocumentationComment(checker).length > 0
  const members = all.filter(isType).flatMap(({ symbol }) => membersOf(checker.getDeclaredTypeOfSymbol(symbol)))
  const missing = [...all.map(({ symbol }) => symbol), ...members.filter((member) => !isTag(member))]
    .filter((symbol) => !isDocumented(symbol) && !isOfDocumentedPart(symbol))
    .map(placeOf)
  expect([...new Set(missing)].sort()).toEqual([])
  expect(all.length).toBeGreaterThan(60)
})

/** What tells the parts of a union apart says itself what it is, and a brand is for the checker alone. */
function isTag(member: ts.Symbol): boolean {
  return (checker.getTypeOfSymbol(member).flags & compiler.TypeFlags.Literal) !== 0 || member.name.startsWith('__@')
}

/** A comment before a part of a union that stands in one line is about its members too. */
function isOfDocumentedPart({ valueDeclaration }: ts.Symbol): boolean {
  const part = valueDeclaration?.parent
  if (!part || !compiler.isTypeLiteralNode(part) || !compiler.isUnionTypeNode(part.parent)) return false
  const text = part.getSourceFile().text
  const before = text.slice(0, part.getStart())
  return /\*\/\s*\|?\s*$/.test(before) && !part.getText().includes('\n')
}

function placeOf(symbol: ts.Symbol): string {
  const [node] = symbol.declarations ?? []
  const file = node?.getSourceFile()
  const line = node && file ? file.getLineAndCharacterOfPosition(node.getStart()).line + 1 : 0
  return `${file?.fileName.slice(root.length)}:${line} ${symbol.name}`
}
