import { join } from 'node:path'
import ts from 'typescript'
import { apply, type Mutant } from './mutants.ts'
import type { Read } from './tests-for.ts'

/** Returns a predicate: whether the file of a mutant passes the type check. One that does not is no change that could land. */
export function compilerOf(root: string, sources: readonly string[], read: Read): (mutant: Mutant) => boolean {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
  const changed = new Map<string, { readonly content: string; readonly version: number }>()
  const service = ts.createLanguageService({
    getCompilationSettings: () => options,
    getScriptFileNames: () => sources.map((file) => join(root, file)),
    getScriptVersion: (file) => String(changed.get(file)?.version ?? 0),
    getScriptSnapshot: (file) => {
      const content = changed.get(file)?.content ?? ts.sys.readFile(file)
      return content === undefined ? undefined : ts.ScriptSnapshot.fromString(content)
    },
    getCurrentDirectory: () => root,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: ts.sys.fileExists,
    readFile: ts.sys.readFile,
    directoryExists: ts.sys.directoryExists,
  })
  return (mutant) => {
    const path = join(root, mutant.file)
    const content = read(mutant.file)
    const set = (text: string): unknown =>
      changed.set(path, { content: text, version: (changed.get(path)?.version ?? 0) + 1 })
    set(apply(mutant, content))
    const errors = [...service.getSyntacticDiagnostics(path), ...service.getSemanticDiagnostics(path)]
    set(content)
    return errors.length === 0
  }
}
