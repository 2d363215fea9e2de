import { compiler } from '../typescript.ts'

/** Reads a file by its path relative to the root. */
export type Read = (file: string) => string

/** Pages are bundled from these, which no import shows. */
const bundled: readonly (readonly [source: string, tests: RegExp])[] = [
  ['src/react/', /^test\/browser\/.*react/],
  ['src/browser/', /^test\/browser\//],
  ['src/backend/client/', /^test\/browser\/backend-client/],
]

/** A file that a test gives to esbuild, as commands are. */
const entryPoint = /entryPoints: [^\n]*?((?:service\/)?src\/[\w/-]+\.tsx?)/g

const browserTest = /^test\/(?:browser|e2e)\//

/**
 * Returns the test files that reach a source file through imports, the nearest first: those of its name, then those that are
 * the fewest imports away.
 */
export function testsFor(file: string, files: readonly string[], read: Read): string[] {
  const importers = importersOf(files, read)
  const distance = new Map([[file, 0]])
  for (const [at, steps] of distance)
    for (const from of importers.get(at) ?? []) if (!distance.has(from)) distance.set(from, steps + 1)
  const inBrowser = (test: string): boolean =>
    bundled.some(([folder, tests]) => file.startsWith(folder) && tests.test(test))
  for (const test of files.filter(inBrowser)) distance.set(test, 1)

  const rank = (test: string): number => (isNamedAfter(test, file) ? 0 : 100) + (distance.get(test) ?? 0)
  return [...distance.keys()]
    .filter((reached) => /\.test\.tsx?$/.test(reached) && (!browserTest.test(reached) || inBrowser(reached)))
    .sort((a, b) => rank(a) - rank(b))
}

function importersOf(files: readonly string[], read: Read): Map<string, string[]> {
  const known = new Set(files)
  const importers = new Map<string, string[]>()
  for (const from of files) {
    const content = read(from)
    const imported = compiler
      .preProcessFile(content, true, true)
      .importedFiles.map(({ fileName }) => placeOf(fileName, from))
    for (const to of [...imported, ...[...content.matchAll(entryPoint)].map(([, file]) => file)]) {
      if (to !== undefined && known.has(to)) importers.set(to, [...(importers.get(to) ?? []), from])
    }
  }
  return importers
}

function placeOf(specifier: string, from: string): string | undefined {
  if (specifier.startsWith('.')) return new URL(specifier, `file:///${from}`).pathname.slice(1)
  const entry = /^agent-auth(?:\/([a-z]+))?$/.exec(specifier)
  if (entry) return entry[1] ? `src/${entry[1]}/index.ts` : 'src/index.ts'
  return specifier === 'agent-service' ? 'service/src/index.ts' : undefined
}

/** `test/session/freshness.test.ts` is named after `src/session.ts` and after each file of `src/session/`. */
function isNamedAfter(test: string, file: string): boolean {
  if (test.startsWith('service/') !== file.startsWith('service/')) return false
  const names = file
    .replace(/^(?:service\/)?src\//, '')
    .replace(/\.tsx?$/, '')
    .split('/')
  const words = test.replace(/\.test\.tsx?$/, '').split(/[/.]/)
  return names.some((name) => words.includes(name))
}
