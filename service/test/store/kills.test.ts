// @module-tag database

import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'libsql'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase } from '../../../test/support/fresh-database.ts'
import { serverUrl } from '../../../test/support/servers-client.ts'
import { killStorm } from '../support/kill-storm.ts'
import { clientOf, errorOf, refresh } from '../support/login.ts'
import { type ProcessOptions, type ServiceProcess, startProcess } from '../support/processes.ts'
import { isOnPostgres } from '../support/start.ts'

const kills = 5

let command: string
let data: ProcessOptions['data']
const undo: (() => Promise<void>)[] = []
beforeAll(async () => {
  command = await serverUrl('command')
  if (isOnPostgres()) {
    const database = await freshDatabase()
    undo.push(database.drop)
    data = { databaseUrl: database.url }
  } else {
    const folder = await mkdtemp(join(tmpdir(), 'agent-service-kills-'))
    undo.push(() => rm(folder, { recursive: true }))
    data = { dataFile: join(folder, 'data.db') }
  }
})
afterAll(async () => {
  for (const step of undo.reverse()) await step()
})

test(`${kills} SIGKILLs under load: every family goes on with exactly one live leaf`, async () => {
  const report = await killStorm({ command, data, kills, seed: 20_270_131 })
  expect(report).toMatchObject({ kills, leafless: [], doubled: [], lost: [] })
  // A storm in which little happened proves little.
  expect(report.logins + report.refreshes).toBeGreaterThan(5 * kills)
  if ('dataFile' in data) {
    const database = new Database(data.dataFile)
    expect(database.prepare('pragma integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
    expect(database.prepare('pragma foreign_key_check').all()).toEqual([])
    database.close()
  }
})

/** What GET /_dev/state says; of its faults, those that are used up are gone. */
async function readState(service: ServiceProcess): Promise<{ faults: unknown[] }> {
  const answer = await service.fetch(`${service.authUrl}/_dev/state`)
  return (await answer.json()) as { faults: unknown[] }
}

test('SIGTERM answers what is running, refuses what is new, and ends within 10 s beside a client that never finishes', async () => {
  const service = await startProcess(command, { data })
  const rule = { match: { path: '/auth/v1/token' }, effect: { delayMs: 2_000 }, times: 1 }
  await service.fetch(`${service.authUrl}/_dev/faults`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(rule),
  })
  const { port, hostname: host } = new URL(service.authUrl)
  const unfinished = connect({ port: Number(port), host }, () => unfinished.write('POST /auth/v1/token HTTP/1.1\r\n'))
  unfinished.on('error', () => undefined)
  const running = refresh(service, clientOf(service, 'Demo public'), 'art_unknown')
  await expect.poll(async () => (await readState(service)).faults).toEqual([])
  const stopped = service.stop()
  const refused = async (): Promise<unknown> => {
    const failure: unknown = await fetch(`${service.authUrl}/healthz`).catch((error: Error) => error.cause)
    return (failure as { code?: unknown }).code
  }
  await expect.poll(refused).toBe('ECONNREFUSED')
  const answer = await running
  expect({ status: answer.status, error: await errorOf(answer) }).toEqual({ status: 400, error: 'invalid_grant' })
  const { code, tookMs } = await stopped
  // By its own clock it took less than 9.5 s, or the code were 1.
  expect(code).toBe(0)
  expect(tookMs).toBeLessThan(20_000)
  unfinished.destroy()
})
