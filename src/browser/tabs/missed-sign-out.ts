import { attempt } from '../../internal/attempt.ts'

export interface SignOutMark {
  /** Records a sign-out for tabs that receive no message now. */
  set(): void
  /** Returns whether another tab signed out since the last call. */
  wasSet(): boolean
}

/** Keeps a random text in localStorage that changes with each sign-out. Without localStorage only open tabs learn of one. */
export function signOutMark(name: string): SignOutMark {
  const key = `${name}:signed-out`
  const read = (): string | null | undefined => attempt(() => localStorage.getItem(key))
  let last = read()
  return {
    set() {
      attempt(() => localStorage.setItem(key, crypto.randomUUID()))
      last = read()
    },
    wasSet() {
      const before = last
      // Site data that the user cleared is no sign-out.
      last = read() ?? last
      return last !== before
    },
  }
}
