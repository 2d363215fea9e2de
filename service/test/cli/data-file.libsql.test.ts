import { chmod, mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { refuseDataFile } from '../../src/cli/offline.ts'
import { createService } from '../support/start.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agent-service-file-'))
})
afterEach(() => rm(folder, { recursive: true }))

/** Names and permissions of all files here, while a service has this one open and afterwards. */
async function modesWith(dataFile: string): Promise<Record<string, string>> {
  const service = await createService({ dataFile, passwordScheme: 'keyed' })
  const names = await readdir(folder)
  const modes = await Promise.all(
    names.map(async (name) => [name, ((await stat(join(folder, name))).mode & 0o777).toString(8)]),
  )
  await service.close()
  return Object.fromEntries(modes)
}

test('a data file named by a symbolic link to nothing is made for its owner only', async () => {
  await symlink('target.db', join(folder, 'link.db'))
  await symlink(join(folder, 'link.db'), join(folder, 'second.db'))
  const modes = await modesWith(join(folder, 'second.db'))
  expect(modes).toMatchObject({ 'target.db': '600', 'link.db': '600', 'second.db': '600' })
  for (const [name, mode] of Object.entries(modes)) expect({ name, mode }).toEqual({ name, mode: '600' })
})

test('a data file whose name SQLite would read as a URL is that file', async () => {
  const from = process.cwd()
  process.chdir(folder)
  onTestFinished(() => process.chdir(from))
  expect(await modesWith('file:a.db')).toMatchObject({ 'file:a.db': '600', 'file:a.db-wal': '600' })
})

test('a folder as the data file is refused, and its permissions stay', async () => {
  await chmod(folder, 0o777)
  const message = `dataFile ${JSON.stringify(folder)} is not a file; choose another path`
  await expect(createService({ dataFile: folder })).rejects.toThrow(message)
  expect(((await stat(folder)).mode & 0o777).toString(8)).toBe('777')
})

test.each([
  ['an empty file', async (file: string) => writeFile(file, '', { mode: 0o644 })],
  [
    'a database',
    async (file: string) => {
      await (await createService({ dataFile: file, passwordScheme: 'keyed' })).close()
      await chmod(file, 0o664)
    },
  ],
])('%s that others may read becomes its owner’s only', async (_, make) => {
  const file = join(folder, 'data.db')
  await make(file)
  const modes = await modesWith(file)
  expect(modes['data.db']).toBe('600')
  for (const [name, mode] of Object.entries(modes)) expect({ name, mode }).toEqual({ name, mode: '600' })
})

test('a symbolic link into a folder that is not there is refused before anything is made', async () => {
  await symlink(join(folder, 'gone', 'target.db'), join(folder, 'link.db'))
  expect(refuseDataFile(join(folder, 'link.db'))).toContain('its folder does not exist')
  await mkdir(join(folder, 'gone'))
  expect(refuseDataFile(join(folder, 'link.db'))).toBeUndefined()
})
