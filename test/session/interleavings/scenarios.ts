import type { Scenario } from './world.ts'

/** What users and apps do, in worlds that are small enough to be run through all interleavings. */
export const scenarios: Readonly<Record<string, Scenario>> = {
  'two pages refresh': {
    stored: 'A',
    pages: [[{ do: 'refresh' }, { do: 'refresh', idle: true }], [{ do: 'refresh' }]],
  },
  'one signs in over a user who refreshes elsewhere': {
    stored: 'A',
    pages: [
      [{ do: 'signIn', as: 'B' }, { do: 'call' }],
      [{ do: 'refresh' }, { do: 'call', idle: true }],
    ],
  },
  'two sign-ins race': {
    pages: [
      [
        { do: 'signIn', as: 'A' },
        { do: 'call', idle: true },
      ],
      [
        { do: 'signIn', as: 'B' },
        { do: 'call', idle: true },
      ],
    ],
  },
  'one signs in, the other signs out': {
    pages: [
      [{ do: 'signIn', as: 'A' }, { do: 'call' }],
      [
        { do: 'call', after: [0, 0] },
        { do: 'signOut', idle: true },
      ],
    ],
  },
  'a sign-out elsewhere during a refresh': { stored: 'A', pages: [[{ do: 'refresh' }], [{ do: 'signOut' }]] },
  'a sign-out here during a refresh': {
    stored: 'A',
    pages: [[{ do: 'refresh' }, { do: 'signOut' }, { do: 'call', idle: true }]],
  },
  'a sign-out here, and a sign-in before it has ended': {
    stored: 'A',
    pages: [[{ do: 'signOut' }, { do: 'signIn', as: 'B' }, { do: 'call', idle: true }]],
  },
  'a sign-out during a sign-in': {
    pages: [
      [{ do: 'signIn', as: 'A' }, { do: 'signOut' }, { do: 'call', idle: true }],
      [{ do: 'call', after: [0, 1] }],
    ],
  },
  'a call during a sign-out': { stored: 'A', pages: [[{ do: 'signOut' }, { do: 'call' }], [{ do: 'call' }]] },
  'a page crashes during a refresh': { stored: 'A', pages: [[{ do: 'refresh' }, { do: 'crash' }], [{ do: 'call' }]] },
  'site data is cleared during a refresh': { stored: 'A', pages: [[{ do: 'refresh' }], [{ do: 'clear' }]] },
  'a refused refresh and a new sign-in': {
    stored: 'A',
    pages: [[{ do: 'signIn', as: 'B' }], [{ do: 'revoke', as: 'A' }, { do: 'refresh' }]],
  },
}
