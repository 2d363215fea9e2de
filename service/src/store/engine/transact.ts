import type { Db } from '../store.ts'
import { failureOf } from './failures.ts'

const mostAttempts = 4

/** All or nothing. Runs `task` again when another transaction stood in the way, so it must do nothing but query. */
export async function transact<Value>(db: Db, task: (tx: Db) => Promise<Value>): Promise<Value> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await db.transaction().execute(task)
    } catch (error) {
      if (attempt === mostAttempts || failureOf(error) !== 'conflict') throw error
    }
  }
}
