import { fileURLToPath } from 'node:url'
import type ts from 'typescript'
import { compiler } from '../../scripts/typescript.ts'

// Type checks of files that exist in a test alone, with the options of this repository.

const root = fileURLToPath(new URL('../../', import.meta.url))
const { compilerOptions } = compiler.readConfigFile(`${root}tsconfig.json`, compiler.sys.readFile).config as {
  compilerOptions: object
}

/** Returns the options of the repository with these changes, without the types of Node.js. */
export function optionsWith(changes: object): ts.CompilerOptions {
  const json = { ...compilerOptions, types: [], jsx: undefined, jsxImportSource: undefined, ...changes }
  return compiler.convertCompilerOptionsFromJson(json, root).options
}

/** Makes a program of files. The map holds the texts of those that no disk has. */
export type MakeProgram = (
  files: readonly string[],
  options: ts.CompilerOptions,
  texts?: ReadonlyMap<string, string>,
) => ts.Program

/** Makes programs that share what they parse, because the declarations of the platform are most of the work. */
export function sharingPrograms(): MakeProgram {
  const parsed = new Map<string, ts.SourceFile | undefined>()
  return (files, options, texts = new Map()) => {
    const host = compiler.createCompilerHost(options)
    const { fileExists, getSourceFile } = host
    // As tsc does: what comments say matters to editors.
    host.jsDocParsingMode = compiler.JSDocParsingMode.ParseForTypeErrors
    host.fileExists = (path) => texts.has(path) || fileExists(path)
    host.getSourceFile = (path, language) => {
      const own = texts.get(path)
      if (own !== undefined) return compiler.createSourceFile(path, own, language)
      if (!parsed.has(path)) parsed.set(path, getSourceFile(path, language))
      return parsed.get(path)
    }
    return compiler.createProgram(files, options, host)
  }
}

/** Returns what the type checker says about these files of a program. */
export function problemsOf(program: ts.Program, files: readonly string[]): string[] {
  return files
    .map((path) => program.getSourceFile(path))
    .flatMap((file) => [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)])
    .map(({ messageText }) => compiler.flattenDiagnosticMessageText(messageText, '\n'))
}
