import { join } from 'node:path'
import { compiler } from '../typescript.ts'
import { apply, type Mutant } from './mutants.ts'
import type { Read } from './tests-for.ts'

/** Returns a predicate: whether the file of a mutant passes the type check. One that does not is no change that could land. */
export function compilerOf(root: string, sources: readonly string[], read: Read): (mutant: Mutant) => boolean {
  const { config } = compiler.readConfigFile(join(root, 'tsconfig.json'), compiler.sys.readFile)
  const { options } = compiler.parseJsonConfigFileContent(config, compiler.sys, root)
  const changed = new Map<string, { readonly content: string; readonly version: number }>()
  const service = compiler.createLanguageService({
    getCompilationSettings: () => options,
    getScriptFileNames: () => sources.map((file) => join(root, file)),
    getScriptVersion: (file) => String(changed.get(file)?.version ?? 0),
    getScriptSnapshot: (file) => {
      const content = changed.get(file)?.content ?? compiler.sys.readFile(file)
      return content === undefined ? undefined : compiler.ScriptSnapshot.fromString(content)
    },
    getCurrentDirectory: () => root,
    getDefaultLibFileName: compiler.getDefaultLibFilePath,
    fileExists: compiler.sys.fileExists,
    readFile: compiler.sys.readFile,
    directoryExists: compiler.sys.directoryExists,
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
