import { randomInt } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { sql } from 'kysely'
import { freePort } from '../../../test/support/free-port.ts'
import { type Db, hashToken, type RawDatabase, rawDatabase } from '../../src/store/database.ts'
import { openStore } from '../../src/store/store.ts'
import { findRefreshTokenUse } from '../../src/store/tokens.ts'
import { authorizeUrl, clientOf, exchange, refresh, type Service, type TokenAnswer } from './login.ts'
import { type ProcessOptions, type ServiceProcess, startProcess } from './processes.ts'
import { createRandom, type Random } from './random.ts'

export interface KillReport {
  kills: number
  logins: number
  refreshes: number
  /** Grants that are alive and have no refresh token to go on with, found after a kill. */
  leafless: string[]
  /** Grants with more than one unused refresh token. */
  doubled: string[]
  /** Rotations that were committed and whose answer nobody heard. */
  unheard: number
  /** Sessions that a retry could not continue after a restart. */
  lost: string[]
}

/** A session as its client knows it: the last token it got, which it may have sent without hearing the answer. */
interface Family {
  refreshToken: string
}

const workers = 6
/** It dies this many answers after it began to work, and up to so many milliseconds later: in the middle of the next. */
const fewestAnswers = 6
const mostAnswers = 30
const longestWaitMs = 15
const email = 'ada@demo.example'

/**
 * Kills the service with SIGKILL in the middle of logins and refreshes, starts it again on the same data, and looks at
 * the data and at every session: each that was given to a client must go on, with exactly one live refresh token.
 */
export async function killStorm({
  command,
  data,
  kills,
  seed = randomInt(2 ** 31),
  onKill,
}: {
  command: string
  data: ProcessOptions['data']
  kills: number
  /** Of when it is killed. Default: another one each time. */
  seed?: number
  onKill?: (kill: number) => void
}): Promise<KillReport> {
  const report: KillReport = { kills: 0, logins: 0, refreshes: 0, unheard: 0, leafless: [], doubled: [], lost: [] }
  let families: Family[] = []
  const random = createRandom(seed)
  // A client that missed a response repeats its request after the restart, and a busy machine restarts slowly.
  const own = { data, authPort: await freePort(), basePort: await freePort(), graceMs: 600_000 }
  // Ours stays open all the time, as another process on the same data would be.
  let service = await startProcess(command, own)
  const store = await openStore({ dataFile: undefined, databaseUrl: undefined, ...data })
  try {
    for (let kill = 1; kill <= kills; kill += 1) {
      await autoApprove(service)
      await loadUntilKilled({ service, families, report, random })
      service = await startProcess(command, own)
      report.kills = kill
      await checkLeaves(rawDatabase(store.db), report)
      report.unheard += await countUnheard(store.db, families)
      await continueEach(service, families, report)
      // Old sessions have proved themselves; a few stay in the load.
      families = families.slice(-workers)
      onKill?.(kill)
    }
    await service.stop()
    return report
  } catch (error) {
    await service.kill()
    throw error
  } finally {
    await store.close()
  }
}

async function autoApprove(service: Service): Promise<void> {
  const answer = await service.fetch(`${service.authUrl}/_dev/auto-approve`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email }),
  })
  if (answer.status !== 200) throw new Error(`auto-approve answered ${answer.status}`)
}

async function loadUntilKilled({
  service,
  families,
  report,
  random,
}: {
  service: ServiceProcess
  families: Family[]
  report: KillReport
  random: Random
}): Promise<void> {
  let state: 'running' | 'killed' = 'running'
  let left = fewestAnswers + random.below(mostAnswers - fewestAnswers)
  let death: Promise<void> | undefined
  const countDown = (): void => {
    left -= 1
    if (left > 0) return
    death ??= setTimeout(random.below(longestWaitMs)).then(() => {
      state = 'killed'
      return service.kill()
    })
  }
  const run = async (index: number): Promise<void> => {
    while (state === 'running') {
      const family = families[index]
      try {
        // One worker only logs in, the others mostly refresh.
        if (family === undefined || index === 0) {
          families.push(await login(service))
          report.logins += 1
        } else {
          family.refreshToken = await rotate(service, family.refreshToken)
          report.refreshes += 1
        }
        countDown()
      } catch (error) {
        // Only a service that is gone may fail to answer.
        if (state === 'running' || !(error instanceof TypeError)) throw error
      }
    }
  }
  await Promise.all(Array.from({ length: workers }, (_, index) => run(index)))
  await death
}

async function login(service: Service): Promise<Family> {
  const client = clientOf(service, 'Demo public')
  const { url, verifier, redirectUri } = authorizeUrl(service, { client })
  const answer = await service.fetch(url, { redirect: 'manual' })
  const callback = new URL(answer.headers.get('location') ?? 'about:blank')
  const code = callback.searchParams.get('code')
  if (code === null) throw new Error(`authorize answered ${answer.status} without a code`)
  return {
    refreshToken: await tokenOf(await exchange(service, { url: callback, code, verifier, redirectUri, client })),
  }
}

async function rotate(service: Service, refreshToken: string): Promise<string> {
  return tokenOf(await refresh(service, clientOf(service, 'Demo public'), refreshToken))
}

async function tokenOf(answer: Response): Promise<string> {
  if (answer.status !== 200) throw new Error(`${answer.status}: ${await answer.text()}`)
  return ((await answer.json()) as TokenAnswer).refresh_token
}

/** A leaf is a refresh token that was neither used nor revoked. */
async function checkLeaves(db: RawDatabase, report: KillReport): Promise<void> {
  const { rows } = await sql<{ id: string; leaves: number }>`
    select grants.id as id, count(leaf.hash) as leaves
    from grants left join refresh_tokens as leaf
      on leaf.grant_id = grants.id and leaf.used_ms is null and leaf.revoked_ms is null
    where grants.revoked_ms is null
    group by grants.id having count(leaf.hash) <> 1`.execute(db)
  for (const { id, leaves } of rows) (leaves === 0 ? report.leafless : report.doubled).push(id)
}

async function countUnheard(db: Db, families: Family[]): Promise<number> {
  const hashes = families.map(({ refreshToken }) => hashToken(refreshToken))
  const tokens = await Promise.all(hashes.map((hash) => findRefreshTokenUse(db, { hash })))
  return tokens.filter((token) => token !== undefined && token.usedMs !== null).length
}

/** The client's own retry: its last token gives a pair, whether the killed service had rotated it or not. */
async function continueEach(service: Service, families: Family[], report: KillReport): Promise<void> {
  await Promise.all(
    families.map(async (family) => {
      try {
        family.refreshToken = await rotate(service, family.refreshToken)
      } catch (error) {
        report.lost.push(String(error))
      }
    }),
  )
}
