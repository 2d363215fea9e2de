import { attempt } from '../../internal/values.ts'

/** The sign-outs that a tab missed. Other tabs hear of one by a message on the channel. */
export interface MissedSignOut {
  /** Records a sign-out for tabs that receive no message now. */
  set(): void
  /** Returns whether another tab signed out since the last call, also that of the page before in this tab. */
  wasSet(): boolean
}

/**
 * Keeps a random text in localStorage that changes with each sign-out, and in sessionStorage the one that this tab knows. Without
 * localStorage only open tabs learn of a sign-out.
 */
export function missedSignOut(name: string): MissedSignOut {
  const key = `${name}:signed-out`
  const read = (): string | undefined => attempt(() => localStorage.getItem(key) ?? '')
  let known = attempt(() => sessionStorage.getItem(key) ?? '') ?? read()
  const note = (mark: string | undefined): void => {
    known = mark
    if (mark) attempt(() => sessionStorage.setItem(key, mark))
  }
  return {
    set() {
      attempt(() => localStorage.setItem(key, crypto.randomUUID()))
      note(read())
    },
    wasSet() {
      const before = known
      // Site data that the user cleared is no sign-out.
      note(read() || before)
      return known !== before
    },
  }
}
