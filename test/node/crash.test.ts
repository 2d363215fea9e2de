import { spawnSync } from 'node:child_process'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { serverUrl } from '../support/servers-client.ts'

test('a crash of a Node process prints lines that a person can read', async () => {
  const entry = pathToFileURL(`${await serverUrl('package')}/node.js`).href
  const code = `import { fileStorage } from ${JSON.stringify(entry)}; fileStorage('')`
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' })
  expect(stderr).toMatch(/^ +throw new AgentAuthError\(/m)
  expect(stderr).toContain('config_invalid')
  expect(Math.max(...stderr.split('\n').map(({ length }) => length))).toBeLessThan(400)
})
