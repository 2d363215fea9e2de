import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { killStorm } from '../../service/test/support/kill-storm.ts'
import type { ProcessOptions } from '../../service/test/support/processes.ts'
import { bundleCommand } from '../../service/test/support/processes.ts'
import { startPostgres } from '../support/postgres-server.ts'
import type { Soak } from './index.ts'

/** SIGKILLs under load, with a look at every family after each (service/test/support/kill-storm.ts). */
export async function soakKills(
  database: 'libsql' | 'postgres',
  { rounds, onRound }: Parameters<Soak['run']>[0],
): Promise<string> {
  const command = await bundleCommand()
  const place = await (database === 'libsql' ? openFolder() : openPostgres())
  try {
    const report = await killStorm({ command: command.file, data: place.data, kills: rounds, onKill: onRound })
    const { logins, refreshes, unheard, leafless, doubled, lost } = report
    const said = `${logins} logins, ${refreshes} refreshes, ${unheard} lost answers, ${leafless.length} families without a leaf, ${doubled.length} with two, ${lost.length} lost sessions`
    if (leafless.length + doubled.length + lost.length > 0) throw new Error(`${said}\n${lost.slice(0, 5).join('\n')}`)
    return said
  } finally {
    await place.close()
    await command.remove()
  }
}

async function openFolder(): Promise<{ data: ProcessOptions['data']; close(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'agent-service-soak-'))
  return { data: { dataFile: join(folder, 'data.db') }, close: () => rm(folder, { recursive: true }) }
}

async function openPostgres(): Promise<{ data: ProcessOptions['data']; close(): Promise<void> }> {
  const server = await startPostgres()
  return { data: { databaseUrl: server.url }, close: () => server.stop() }
}
