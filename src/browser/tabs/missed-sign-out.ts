import { attempt } from '../../internal/attempt.ts'

/** The sign-outs that a tab missed. Other tabs hear of one by the message that tab-session.ts sends. */
export interface MissedSignOut {
  /** Records a sign-out for tabs that receive no message now. */
  set(): void
  /** Returns whether another tab signed out since the last call. */
  wasSet(): boolean
}

/** Keeps a random text in localStorage that changes with each sign-out. Without localStorage only open tabs learn of one. */
export function missedSignOut(name: string): MissedSignOut {
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
