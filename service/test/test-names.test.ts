import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type ts from 'typescript'
import { expect, test } from 'vitest'
import { compiler } from '../../scripts/typescript.ts'
import { parse, sourceFiles } from '../../test/support/source-graph.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const folder = `${root}service/src`

/** Returns the name of a source or test file up to the first dot. */
function nameOf(file: string): string {
  return file.replace(/^.*\//, '').replace(/\..*$/, '')
}

/** What the comment above the first import of a test says, or undefined if there is no such comment. */
interface Comment {
  /** `Also tests`, if the file has the name of a source as well. */
  begins: string
  paths: string[]
}

function commentOf(text: string): Comment | undefined {
  const head = text.slice(0, text.search(/^import /m))
  const pattern = /(?:^|\n)\/\/ (Tests|Also tests) (service\/src\/.+(?:\n\/\/ service\/src\/.+)*)\.\n$/
  const [, begins = '', paths] = pattern.exec(head) ?? []
  return paths === undefined ? undefined : { begins, paths: paths.replaceAll('\n//', '').split(', ') }
}

/** Returns the tests with a comment that is not above the first import, is not written as the others are, or is not the only one. */
function misplaced(tests: readonly { file: string; text: string }[]): string[] {
  const counted = tests.map(({ file, text }) => {
    return { file, comments: text.match(/^\/\/ .*\btests? service\/src\//gim)?.length ?? 0, comment: commentOf(text) }
  })
  return counted.filter(({ comments, comment }) => comments !== (comment ? 1 : 0)).map(({ file }) => file)
}

/** Returns whether a test of this name is the test of this source: each other source of the same name lies deeper. */
function isHighestOfItsName(source: string, sources: readonly string[]): boolean {
  const depthOf = (file: string): number => file.split('/').length
  const notDeeper = sources.filter((other) => nameOf(other) === nameOf(source) && depthOf(other) <= depthOf(source))
  return notDeeper.length === 1
}

/** Accepts types, imports and re-exports. */
function runsNothing(statement: ts.Statement): boolean {
  return (
    compiler.isImportDeclaration(statement) ||
    compiler.isInterfaceDeclaration(statement) ||
    compiler.isTypeAliasDeclaration(statement) ||
    compiler.isExportDeclaration(statement)
  )
}

test('each source file of the service is named by the name of a test file, or by the comment of one', () => {
  const tests = sourceFiles(`${root}service/test`)
    .filter((file) => /\.test\.tsx?$/.test(file))
    .map((file) => ({ file, text: readFileSync(`${root}service/test/${file}`, 'utf8') }))
  expect(misplaced(tests)).toEqual([])
  const sources = sourceFiles(folder)
  const names = new Set(sources.map(nameOf))
  const comments = tests.flatMap(({ file, text }) => {
    const comment = commentOf(text)
    return comment ? [{ file, ...comment }] : []
  })
  const beginningOf = (file: string): string => (names.has(nameOf(file)) ? 'Also tests' : 'Tests')
  expect(comments.filter(({ file, begins }) => begins !== beginningOf(file)).map(({ file }) => file)).toEqual([])
  const named = new Set(comments.flatMap(({ paths }) => paths))
  expect([...named].filter((path) => !existsSync(root + path))).toEqual([])
  const tested = new Set(tests.map(({ file }) => nameOf(file)))
  const unnamed = sources
    .filter((file) => !named.has(`service/src/${file}`))
    .filter((file) => !tested.has(nameOf(file)) || !isHighestOfItsName(file, sources))
  expect(unnamed.filter((file) => !parse(`${folder}/${file}`).statements.every(runsNothing))).toEqual([])
  expect(named.size).toBeGreaterThan(150)
})
