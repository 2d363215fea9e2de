import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type ts from 'typescript'
import { compiler } from '../../scripts/typescript.ts'
import { parse, sourceFiles } from './source-graph.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** A test file, relative to its folder. */
export interface TestFile {
  readonly file: string
  readonly text: string
}

/** What the comment above the first import of a test says. */
export interface SourcesComment {
  /** `Also tests`, if the file has the name of a source as well. */
  readonly begins: string
  readonly paths: readonly string[]
}

export function testsIn(folder: 'test' | 'service/test'): TestFile[] {
  return sourceFiles(root + folder)
    .filter((file) => /\.test\.tsx?$/.test(file))
    .map((file) => ({ file, text: readFileSync(`${root}${folder}/${file}`, 'utf8') }))
}

/** Returns the comment that names sources of this folder, or undefined if there is none directly above the first import. */
export function commentOf(text: string, sources: 'src' | 'service/src'): SourcesComment | undefined {
  const head = text.slice(0, text.search(/^import /m))
  const pattern = new RegExp(`(?:^|\n)// (Tests|Also tests) (${sources}/.+(?:\n// ${sources}/.+)*)\\.\n$`)
  const [, begins = '', paths] = pattern.exec(head) ?? []
  return paths === undefined ? undefined : { begins, paths: paths.replaceAll('\n//', '').split(', ') }
}

/** Returns the tests with such a comment in another place, in another form, or more than once. */
export function misplaced(tests: readonly TestFile[], sources: 'src' | 'service/src'): string[] {
  const anyComment = new RegExp(`^// .*\\btests? ${sources}/`, 'gim')
  const countOf = ({ text }: TestFile): number => text.match(anyComment)?.length ?? 0
  return tests.filter((one) => countOf(one) !== (commentOf(one.text, sources) ? 1 : 0)).map(({ file }) => file)
}

/** Returns the name of a source or test file up to the first dot. An `index.ts` has the name of its folder. */
export function nameOf(file: string): string {
  return file
    .replace(/\/index\.ts$/, '')
    .replace(/^.*\//, '')
    .replace(/\..*$/, '')
}

/** Returns whether a source file holds types, imports and exports of other files only. */
export function runsNothing(path: string): boolean {
  return parse(root + path).statements.every(isNoCode)
}

function isNoCode(statement: ts.Statement): boolean {
  return (
    compiler.isImportDeclaration(statement) ||
    compiler.isInterfaceDeclaration(statement) ||
    compiler.isTypeAliasDeclaration(statement) ||
    compiler.isExportDeclaration(statement)
  )
}
