import { once } from 'node:events'
import { lstat, mkdtemp, readdir, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { writeFileWhole } from '../../src/cli/write-whole.ts'

test('an export replaces no device, pipe or socket, such as /dev/null', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'agent-service-whole-'))
  const path = join(folder, 's')
  const server = createServer().listen(path)
  onTestFinished(async () => {
    server.close()
    await rm(folder, { recursive: true })
  })
  await once(server, 'listening')
  await expect(writeFileWhole(path, 'text')).rejects.toThrow(
    `the export could not be written to ${JSON.stringify(path)} (no file); nothing was changed there`,
  )
  expect((await lstat(path)).isSocket()).toBe(true)
  expect(await readdir(folder)).toEqual(['s'])
})
