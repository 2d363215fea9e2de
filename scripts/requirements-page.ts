import { readFileSync } from 'node:fs'

interface Kind {
  title: string
  /** Which ids are of this kind. */
  id: RegExp
  text: string
}

const kinds: readonly Kind[] = [
  {
    title: 'C: the client',
    id: /^C-/,
    text: 'What agent-auth must or should do, from the first random byte of a login to the last retry of a call.',
  },
  {
    title: 'S: the service',
    id: /^S-/,
    text: 'What agent-service must or should do, so that a client that works against it works against a strict server.',
  },
  {
    title: 'P: figures',
    id: /^P-/,
    text: 'Figures that are promised, and measured again by the tests that name them.',
  },
  {
    title: 'D: disturbances',
    id: /^D-/,
    text: 'Things that go wrong around a client. The test makes it happen and says what becomes of the session: it lives on.',
  },
  {
    title: 'F: failures of the field',
    id: /^F\d/,
    text: 'Ways in which clients of this kind have failed their users. The test shows that this one does not. `npm run test:field` runs these tests.',
  },
  {
    title: 'I: invariants',
    id: /^I-/,
    text: 'What holds in every history of a session, and is checked after each random one.',
  },
]

const intro = `# Requirements

The titles of the tests end with ids: \`clicks through sign-in and consent reach the callback … [S-013]\`. An id names one
requirement, and this page says in a sentence what it is. \`npm run trace\` says which of them no test names, and
\`npm run trace -- --rows\` shows the tests of each. A test deserves an id when deleting what it guards makes it fail. The ids
that begin with \`A-\` are decisions of the service: [its assumptions](../service/ASSUMPTIONS.md) explain them.

This page is written by \`npm run requirements\` from \`test/rows.json\`, the rows that must have a test, and
\`test/rows-beyond.json\`, others that tests name. The ids have gaps: rows that have no test yet are not listed.
`

/** Every row with its sentence. */
export function allRows(): Record<string, string> {
  const read = (file: string): Record<string, string> =>
    JSON.parse(readFileSync(new URL(`../test/${file}`, import.meta.url), 'utf8'))
  return { ...read('rows.json'), ...read('rows-beyond.json') }
}

/** The text of docs/requirements.md. */
export function requirementsPage(): string {
  const rows = Object.entries(allRows()).sort(([a], [b]) => (a < b ? -1 : 1))
  const sections = kinds.map(({ title, id, text }) => {
    const lines = rows
      .filter(([row]) => id.test(row))
      .map(([row, sentence]) => `| ${row} | ${sentence.replaceAll('|', '\\|')} |`)
    return `\n## ${title}\n\n${text}\n\n| Id | Requirement |\n|---|---|\n${lines.join('\n')}\n`
  })
  return intro + sections.join('') + excluded()
}

/** The failures of the field that cannot happen here, with the reason. */
function excluded(): string {
  const rows: Record<string, { failure: string; reason: string }> = JSON.parse(
    readFileSync(new URL('../test/field/not-ours.json', import.meta.url), 'utf8'),
  )
  const lines = Object.entries(rows).map(([id, { failure, reason }]) => `| ${id} | ${failure} | ${reason} |`)
  return `\n## Failures of the field that cannot happen here\n\n| Id | Failure | Why not |\n|---|---|---|\n${lines.join('\n')}\n`
}
