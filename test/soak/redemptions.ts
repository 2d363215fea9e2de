import { redeemTogether } from '../../service/test/support/parallel-redemptions.ts'
import { bundleCommand, startCluster } from '../../service/test/support/processes.ts'
import { startPostgres } from '../support/postgres-server.ts'
import type { Soak } from './index.ts'

/** Fifty redemptions of one code at once over three processes: exactly one may succeed, every time. */
export async function soakRedemptions({ rounds, onRound }: Parameters<Soak['run']>[0]): Promise<string> {
  const [command, server] = await Promise.all([bundleCommand(), startPostgres()])
  const cluster = await startCluster(command.file, { databaseUrl: server.url, size: 3 })
  try {
    const { successes, strange } = await redeemTogether(cluster, { rounds, onRound })
    const wrong = successes.filter((count) => count !== 1)
    if (wrong.length > 0)
      throw new Error(`in ${wrong.length} rounds not one but ${[...new Set(wrong)].join()} succeeded`)
    if (strange.length > 0) throw new Error(`${strange.length} strange answers: ${strange.slice(0, 5).join('; ')}`)
    return `${successes.length} rounds, one success in each`
  } finally {
    await cluster.close()
    await server.stop()
    await command.remove()
  }
}
