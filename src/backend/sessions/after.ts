import { isPromise } from '../../session/store.ts'
import type { MaybePromise } from '../../storage/token-storage.ts'

/** Calls the function at once, or when the value has come, so that a storage that responds at once still does. */
export function after<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return isPromise(value) ? Promise.resolve(value).then(next) : next(value)
}
