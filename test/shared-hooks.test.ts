import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../', import.meta.url))

/** The files in these folders that tests import. */
function sharedFiles(folder: string): string[] {
  return readdirSync(root + folder)
    .filter((name) => name.endsWith('.ts') && !/\.(test|fixture)\.ts$/.test(name))
    .map((name) => `${folder}/${name}`)
}

test('only setup files register a hook when they are loaded: a worker loads others once, and its later test files get none', () => {
  const [, block = ''] = /setupFiles: \[([\s\S]*?)\n\s*\],/.exec(readFileSync(`${root}vitest.config.ts`, 'utf8')) ?? []
  const setupFiles = [...block.matchAll(/'(test\/support\/[a-z-]+\.ts)'/g)]
  const files = ['test/support', 'service/test'].flatMap(sharedFiles)
  const withHook = files.filter((file) => /^(before|after)(Each|All)\(/m.test(readFileSync(root + file, 'utf8')))
  const known = setupFiles.map(([, file]) => file)
  expect(known).toContain('test/support/canary-setup.ts')
  expect(withHook.filter((file) => !known.includes(file))).toEqual([])
})
