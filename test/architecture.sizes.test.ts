import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { functionsOf, lineCount, sourceFiles } from './support/source-graph.ts'

const maxFileLines = 200
const maxFunctionLines = 60

const folders = ['../src', '../service/src'].map((folder) => fileURLToPath(new URL(folder, import.meta.url)))
const files = folders.flatMap((folder) => sourceFiles(folder).map((file) => `${folder}/${file}`))

it(`keeps each source file within ${maxFileLines} lines`, () => {
  expect(files.filter((file) => lineCount(file) > maxFileLines)).toEqual([])
})

it(`keeps each function within ${maxFunctionLines} lines`, () => {
  const functions = files.flatMap((file) => functionsOf(file).map((found) => ({ file, ...found })))
  expect(functions.length).toBeGreaterThan(files.length)
  expect(functions.filter(({ lines }) => lines > maxFunctionLines)).toEqual([])
})
