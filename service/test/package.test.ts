import { readdir, readFile } from 'node:fs/promises'
import { builtinModules } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const service = fileURLToPath(new URL('..', import.meta.url))

async function importedPackages(): Promise<Set<string>> {
  const files = (await readdir(join(service, 'src'), { recursive: true })).filter((file) => /\.tsx?$/.test(file))
  const sources = await Promise.all(files.map((file) => readFile(join(service, 'src', file), 'utf8')))
  const named = sources.flatMap((source) => [
    ...[...source.matchAll(/\bimport\('([^'.][^']*)'\)/g)].map(([, name = '']) => name),
    ...[...source.matchAll(/^import (?!type )[^'\n]*'([^'.][^']*)'|^} from '([^'.][^']*)'/gm)].map(
      ([, one, other]) => one ?? other ?? '',
    ),
    ...[...source.matchAll(/\bimport\('([^'.][^']*)'\)/g)].map(([, name = '']) => name),
  ])
  const packages = named.map((name) => /^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? '')
  return new Set(packages.filter((name) => !name.startsWith('node:') && !builtinModules.includes(name)))
}

test('what the build bundles is not installed once more, and what it leaves out is', async () => {
  const { dependencies, devDependencies } = JSON.parse(await readFile(join(service, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>
    devDependencies: Record<string, string>
  }
  const build = await readFile(join(service, 'tsup.config.ts'), 'utf8')
  const bundled = [...(/^const bundled = \[(.*)\]$/m.exec(build)?.[1] ?? '').matchAll(/'([^']+)'/g)].map(
    ([, name = '']) => name,
  )
  expect(bundled.length).toBeGreaterThan(3)
  expect(Object.keys(devDependencies).filter((name) => !name.startsWith('@types/'))).toEqual(bundled)
  const imported = await importedPackages()
  expect([...imported].sort()).toEqual([...bundled, ...Object.keys(dependencies)].sort())
  expect(Object.keys(dependencies)).toEqual(['libsql', 'pg', 'pino', 'pino-pretty', 'yaml'])
})

test('what only some starts need is imported when it is used, because a static import would be a part of every start', async () => {
  const files = (await readdir(join(service, 'src'), { recursive: true })).filter((file) => /\.tsx?$/.test(file))
  const sources = await Promise.all(files.map((file) => readFile(join(service, 'src', file), 'utf8')))
  const { dependencies } = JSON.parse(await readFile(join(service, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>
  }
  const early = sources.flatMap((source) => [
    ...source.matchAll(/^(?:import (?!type )[^'\n]*|\} from )'([^'.][^']*)'/gm),
  ])
  const packages = new Set(early.map(([, name = '']) => name).filter((name) => Object.hasOwn(dependencies, name)))
  expect([...packages]).toEqual(['libsql'])
})
