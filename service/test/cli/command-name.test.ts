import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { dataFlag } from '../../src/cli/texts.ts'
import { commandName } from '../../src/command-name.ts'

interface Started {
  readonly script?: string
  readonly packageName?: string
  readonly file?: string
}

test.each<[how: string, started: Started, name: string]>([
  ['the script of the clone', { script: 'service', packageName: 'agent-auth' }, 'npm run service --'],
  ['npx', { script: 'npx' }, 'npx agent-service'],
  ['a script of an app', { script: 'dev:auth', packageName: 'my-app' }, 'npx agent-service'],
  ['a script of an app that has the name of ours', { script: 'service', packageName: 'my-app' }, 'npx agent-service'],
  ['Node with its file', { file: join(process.cwd(), 'service/dist/cli.js') }, 'node service/dist/cli.js'],
  ['Node with a file in a folder with a space', { file: join(process.cwd(), 'a b/cli.js') }, "node 'a b/cli.js'"],
  ['its name, installed for all', { file: '/usr/local/bin/agent-service' }, 'agent-service'],
])('a start by %s: the printed command runs as it is written', (_, { script = '', packageName = '', file }, name) => {
  const [node = ''] = process.argv
  const argv = vi.spyOn(process, 'argv', 'get').mockReturnValue([node, ...(file === undefined ? [] : [file])])
  vi.stubEnv('npm_lifecycle_event', script)
  vi.stubEnv('npm_package_name', packageName)
  onTestFinished(() => {
    argv.mockRestore()
    vi.unstubAllEnvs()
  })
  expect(commandName()).toBe(name)
})

test.each([
  ['data/service-1.db', 'data/service-1.db'],
  ['my data.db', "'my data.db'"],
  ['$HOME/`id`.db', "'$HOME/`id`.db'"],
  ["it's.db", "'it'\\''s.db'"],
  ['a\\b.db', "'a\\b.db'"],
])('a data file %j is one word of a shell, in which nothing is expanded', (dataFile, word) => {
  expect(dataFlag({ dataFile })).toBe(` --data ${word}`)
})
