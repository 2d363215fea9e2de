import { fileURLToPath } from 'node:url'
import { exitCodes, runCommand } from './flags.ts'
import { tryRandom } from './mutate/random.ts'
import { measureRooms, scoredRooms } from './mutate/score.ts'

const help = `Usage: npm run mutate [-- --room NAME …] [--incremental]
       npm run mutate -- --random N [--seed S] [--room NAME …] [--silence-limit S]
       npm run mutate -- --at FILE:LINE [--silence-limit S]

Changes one place of the sources at a time and runs the tests that reach it.

Without --random and --at: every change that Stryker makes of the rooms ${scoredRooms.join(', ')}, against the unit tests of
the room and of test/core/. Prints each change that no test noticed, and the score of each room: the share that a test noticed. Sentences
stay as they are. The first run installs Stryker in scripts/mutate/stryker/. A room takes from ten minutes to an hour.

  --room NAME        one of these rooms; more than once
  --incremental      only what changed since the last run of the room, whose report is in coverage/mutation/

With --random and --at: changes of all sources, in a copy of the working tree, against all tests that import the changed file, those
of its name first, on libSQL only. Tests in browsers run for src/browser/ and src/react/ only. Says for each change which test failed.
The changes: a condition negated, < <= > >= === !== && || ?? * / - exchanged, ! removed, a statement removed, undefined
returned, true, false, a number or a word changed. Sentences, types and imports stay as they are, and a change that the type
check refuses is not drawn. A change after which no program can behave differently stands in scripts/mutate/equivalent.json
with the reason.

  --random N         how many; of these two thirds in the core and one third in the service if no room is named
  --seed S           draws the same ones again (default: a new seed, which is printed)
  --room NAME        core, service (its token and consent rooms), or a folder or file of src/ or service/src/; more than once
  --at FILE:LINE     every change of this line instead of random ones
  --silence-limit S  seconds without a result after which a test run counts as hanging (default: 600)

  -h, --help         this text

Exit codes: 0 enough was noticed (each score at least 85 %; of random changes 97 %), 1 less was noticed, 2 the arguments are wrong.
`

const options = {
  random: { type: 'string' },
  seed: { type: 'string' },
  room: { type: 'string', multiple: true },
  at: { type: 'string' },
  incremental: { type: 'boolean' },
  'silence-limit': { type: 'string' },
} as const

type Mode = 'without --random or --at' | 'with --random' | 'with --at'

/** Other options are refused, because they would have no effect. */
const readBy: Readonly<Record<Mode, ReadonlySet<keyof typeof options>>> = {
  'without --random or --at': new Set(['room', 'incremental']),
  'with --random': new Set(['random', 'seed', 'room', 'silence-limit']),
  'with --at': new Set(['at', 'silence-limit']),
}

const root = fileURLToPath(new URL('../', import.meta.url))

await runCommand({ name: 'mutate', help, options }, (flags) => {
  const isRandom = flags.random !== undefined || flags.at !== undefined
  const mode: Mode = flags.at !== undefined ? 'with --at' : isRandom ? 'with --random' : 'without --random or --at'
  const unused = (Object.keys(flags) as (keyof typeof options)[]).find((name) => !readBy[mode].has(name))
  if (unused !== undefined) {
    process.stderr.write(`mutate: --${unused} has no effect ${mode}\n`)
    return exitCodes.usage
  }
  if (isRandom) return tryRandom(flags, root)
  const rooms = flags.room ?? scoredRooms
  const unknown = rooms.filter((room) => !scoredRooms.some((name) => name === room))
  if (unknown.length === 0) return measureRooms(rooms, root, flags.incremental ? 'changed' : 'all')
  process.stderr.write(`mutate: no score is measured of ${unknown.join(', ')}, only of ${scoredRooms.join(', ')}\n`)
  return exitCodes.usage
})
