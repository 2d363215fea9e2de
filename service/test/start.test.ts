import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const folder = fileURLToPath(new URL('.', import.meta.url))

test('every test starts its services through start.ts, so that it can run on both databases', async () => {
  const files = (await readdir(folder)).filter((file) => file !== 'start.ts')
  const direct: string[] = []
  for (const file of files) {
    const source = await readFile(folder + file, 'utf8')
    const imported = [...source.matchAll(/^import \{([^}]*)\} from '(?:agent-service|\.\.\/src\/[a-z]+\.ts)'/gm)]
    if (imported.some(([, names]) => /\b(?:createService|startService|assemble)\b/.test(names ?? ''))) direct.push(file)
  }
  expect(direct).toEqual([])
  expect(files.length).toBeGreaterThan(20)
})
