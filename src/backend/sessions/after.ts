import { isPromise } from '../../session/store.ts'
import type { MaybePromise } from '../../storage/token-storage.ts'

/** Calls the function with the value, at once unless the value is a promise: with a synchronous storage all stays synchronous. */
export function after<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return isPromise(value) ? Promise.resolve(value).then(next) : next(value)
}
