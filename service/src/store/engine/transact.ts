import { storeLimits } from '../../limits.ts'
import type { Db } from '../database.ts'
import { opaqueDatabase, rawDatabase } from '../database.ts'
import { databaseFailureOf, isLockTimeout } from './failures.ts'

/**
 * Runs `task` in a transaction, all or nothing. After a conflict it runs again (`transactionAttempts`, 4 in all), so a task must have no
 * effect outside of its transaction. `after-lock-timeout` runs it again also if PostgreSQL did not grant a lock in time. It is for a
 * reset, the dev controls and a new password, which lock rows of many requests. Between two runs it holds no lock.
 */
export async function transact<Value>(
  db: Db,
  task: (tx: Db) => Promise<Value>,
  again: 'after-conflict' | 'after-lock-timeout' = 'after-conflict',
): Promise<Value> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await rawDatabase(db)
        .transaction()
        .execute((tx) => task(opaqueDatabase(tx)))
    } catch (error) {
      const mayRunAgain =
        databaseFailureOf(error) === 'conflict' || (again === 'after-lock-timeout' && isLockTimeout(error))
      if (attempt === storeLimits.transactionAttempts || !mayRunAgain) throw error
    }
  }
}
