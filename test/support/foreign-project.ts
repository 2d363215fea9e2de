import { readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type ts from 'typescript'
import { expect } from 'vitest'
import { compiler } from '../../scripts/typescript.ts'

// Type checks of what users copy, with the options that they have.

const root = fileURLToPath(new URL('../../', import.meta.url))

const own = {
  'agent-auth': [`${root}src/index.ts`],
  'agent-auth/*': [`${root}src/*/index.ts`],
  'agent-service': [`${root}service/src/index.ts`],
}

const common: ts.CompilerOptions = {
  strict: true,
  isolatedModules: true,
  skipLibCheck: true,
  jsx: compiler.JsxEmit.ReactJSX,
  types: ['node'],
  noEmit: true,
  paths: own,
}

/** The file that `tsc --init` writes, with the types of Node as its comment says. */
export const init: ts.CompilerOptions = {
  ...common,
  module: compiler.ModuleKind.NodeNext,
  target: compiler.ScriptTarget.ESNext,
  declaration: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  verbatimModuleSyntax: true,
  noUncheckedSideEffectImports: true,
  moduleDetection: compiler.ModuleDetectionKind.Force,
}

/** As create-next-app and create-vite write it, without `allowImportingTsExtensions`. */
export const bundled: ts.CompilerOptions = {
  ...common,
  module: compiler.ModuleKind.ESNext,
  moduleResolution: compiler.ModuleResolutionKind.Bundler,
  target: compiler.ScriptTarget.ES2022,
  lib: ['lib.dom.d.ts', 'lib.dom.iterable.d.ts', 'lib.esnext.d.ts'],
}

/** The files that were parsed, because most are the same in every project. A mode of modules changes how one is read. */
const parsed = new Map<string, ts.SourceFile | undefined>()

/** The next file of a worker needs the memory. */
export function forgetParsed(): void {
  parsed.clear()
}

function sharedHost(options: ts.CompilerOptions): ts.CompilerHost {
  const host = compiler.createCompilerHost(options)
  const read = host.getSourceFile
  return {
    ...host,
    // As tsc does: what comments say matters to editors.
    jsDocParsingMode: compiler.JSDocParsingMode.ParseForTypeErrors,
    getSourceFile(path, version, ...rest) {
      const key = `${options.module} ${path}`
      if (!parsed.has(key)) parsed.set(key, read(path, version, ...rest))
      return parsed.get(key)
    },
  }
}

/** Returns what the type checker says of the copied files. The sources of the packages are checked elsewhere. */
export function problemsIn(project: string, options: ts.CompilerOptions): string[] {
  const files = readdirSync(project, { recursive: true, encoding: 'utf8' }).filter((path) => /\.tsx?$/.test(path))
  const rootNames = files.map((path) => join(project, path))
  const program = compiler.createProgram({ rootNames, options, host: sharedHost(options) })
  const sources = program.getSourceFiles().filter(({ fileName }) => fileName.startsWith(project))
  expect(sources.length).toBe(files.length)
  return sources.flatMap((source) =>
    [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map(
      ({ messageText }) =>
        `${relative(project, source.fileName)}: ${compiler.flattenDiagnosticMessageText(messageText, ' ')}`,
    ),
  )
}
