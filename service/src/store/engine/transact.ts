import { storeLimits } from '../../limits.ts'
import type { Db } from '../database.ts'
import { opaqueDatabase, rawDatabase } from '../database.ts'
import { databaseFailureOf } from './failures.ts'

/** Runs `task` in a transaction, all or nothing. After a conflict it runs again, so a task must only query. */
export async function transact<Value>(db: Db, task: (tx: Db) => Promise<Value>): Promise<Value> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await rawDatabase(db)
        .transaction()
        .execute((tx) => task(opaqueDatabase(tx)))
    } catch (error) {
      if (attempt === storeLimits.transactionAttempts || databaseFailureOf(error) !== 'conflict') throw error
    }
  }
}
