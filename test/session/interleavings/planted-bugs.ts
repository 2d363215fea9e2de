import type { PlantedBug } from './session-bundle.ts'

/** Mistakes that the interleavings must find, each with the scenario that shows it. */
export const plantedBugs: readonly (PlantedBug & { readonly title: string; readonly scenario: string })[] = [
  {
    title: 'a missing record does not end a session',
    scenario: 'a sign-out elsewhere during a refresh',
    file: 'record.ts',
    from: "if (stored === 'absent') return record ? 'end' : 'keep'",
    to: "if (stored === 'absent') return 'keep'",
  },
  {
    title: 'a refresh does not read under the lock',
    scenario: 'two pages refresh',
    file: 'session/refresh.ts',
    from: 'const found = await sync.settle()\n  throwIfDiscarded()',
    to: "const found = 'absent' as never",
  },
  {
    title: 'a refresh does not wait for the lock',
    scenario: 'two pages refresh',
    file: 'session/refresh.ts',
    from: 'store.locked(() => refreshUnderLock(parts, from, signals))',
    to: 'refreshUnderLock(parts, from, signals)',
  },
  {
    title: 'a sign-out removes the record only once',
    scenario: 'a sign-out elsewhere during a refresh',
    file: 'sign-out.ts',
    from: 'await store.locked(remove)',
    to: 'if (!isFirstDone) await store.locked(remove)',
  },
  {
    title: 'a sign-out does not remember whose record it removed',
    scenario: 'a sign-out elsewhere during a refresh',
    file: 'sign-out.ts',
    from: 'if (isRecord(stored) && !isRead) memory.forget(stored.id)',
    to: '',
  },
  {
    title: 'a call gets the token of another user',
    scenario: 'one signs in over a user who refreshes elsewhere',
    file: 'access-token.ts',
    from: 'if (record && isOther) throw sessionChanged()',
    to: '',
  },
  {
    title: 'tokens that could not be saved are not written again',
    scenario: 'two pages refresh',
    file: 'access-token.ts',
    from: 'if (memory.unsaved) sync.settleSoon()',
    to: '',
  },
  {
    title: 'a refresh that was discarded brings its session back',
    scenario: 'a sign-out here during a refresh',
    file: 'session/refresh.ts',
    from: 'if (discarded.aborted || memory.record?.id !== from.id) throw loginRequiredOrChanged(memory)',
    to: '',
  },
  {
    title: 'each page takes its own sign-in for the later one',
    scenario: 'two sign-ins race',
    file: 'record.ts',
    from: 'signInMs(record) > signInMs(other)',
    to: 'true',
  },
  {
    title: 'a sign-out does not end a sign-in in progress',
    scenario: 'a sign-out during a sign-in',
    file: 'src/session.ts',
    from: '(): boolean => signingIn?.id === record.id',
    to: '(): boolean => signingIn !== null',
  },
]
