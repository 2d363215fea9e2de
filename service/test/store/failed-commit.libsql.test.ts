import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'libsql'
import { expect, onTestFinished, test } from 'vitest'
import { failCommits } from '../support/failed-commit.ts'
import { clientOf, login, refresh } from '../support/login.ts'
import { assemble } from '../support/start.ts'

test('after a failed commit the data file is free for another process', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'agent-service-commit-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const dataFile = join(folder, 'data.db')
  const onFile = await assemble({ dataFile, passwordScheme: 'keyed' })
  onTestFinished(() => onFile.service.close())
  const { refresh_token } = await login(onFile.service)
  const mend = await failCommits(onFile, 'refresh_tokens')
  const client = clientOf(onFile.service, 'Demo public')
  expect((await refresh(onFile.service, client, refresh_token)).status).toBe(500)
  const other = new Database(dataFile)
  expect(other.prepare('update refresh_tokens set used_ms = null where used_ms = 1').run().changes).toBe(0)
  other.exec('begin exclusive; rollback')
  other.close()
  await mend()
  expect((await refresh(onFile.service, client, refresh_token)).status).toBe(200)
})
