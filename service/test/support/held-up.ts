import { setImmediate } from 'node:timers/promises'
import { sql } from 'kysely'
import type { RawDatabase } from '../../src/store/database.ts'
import { isOnPostgres } from './start.ts'

/** A promise that is resolved by hand. */
export function signal(): { given: Promise<void>; give: () => void } {
  let give = (): void => {}
  const given = new Promise<void>((resolve) => {
    give = resolve
  })
  return { given, give }
}

/** Until the one under test, or several, wait for a lock; libSQL has one connection, so that there they wait from the start. */
export async function untilWaiting(db: RawDatabase, isOver: () => boolean, waiting = 1): Promise<void> {
  if (!isOnPostgres()) return setImmediate()
  const found = sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  const endMs = performance.now() + 60_000
  while (!isOver() && (await found.execute(db)).rows.length < waiting) {
    if (performance.now() > endMs) throw new Error(`Fewer than ${waiting} have waited for a lock within 60 s.`)
    await setImmediate()
  }
}
