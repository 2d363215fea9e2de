import { attempt } from '../../internal/attempt.ts'

export interface SignOutMark {
  /** Leaves a trace of a sign-out for tabs that cannot hear of it now. */
  move(): void
  /** Whether another tab signed out since this was last asked. */
  hasMoved(): boolean
}

/** A random text in localStorage that changes with each sign-out. Without localStorage only open tabs hear of one. */
export function signOutMark(name: string): SignOutMark {
  const key = `${name}:signed-out`
  const read = (): string | null | undefined => attempt(() => localStorage.getItem(key))
  let seen = read()
  return {
    move() {
      attempt(() => localStorage.setItem(key, crypto.randomUUID()))
      seen = read()
    },
    hasMoved() {
      const before = seen
      // Site data that was cleared is no sign-out.
      seen = read() ?? seen
      return seen !== before
    },
  }
}
