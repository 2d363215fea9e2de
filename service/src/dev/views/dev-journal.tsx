/** @jsxImportSource hono/jsx */
import type { HtmlEscapedString } from 'hono/utils/html'
import type { Client, Person } from '../../service.ts'
import type { JournalEntry } from '../../state/journal.ts'
import { Table } from '../../ui/table.tsx'
import { Choice } from './dev-controls.tsx'

/** Which entries of the journal the page shows. An empty text is every client or person. */
export interface JournalFilter {
  client: string
  person: string
}

interface JournalProps {
  journal: readonly JournalEntry[]
  filter: JournalFilter
  clients: readonly Client[]
  people: readonly Person[]
  emailOf(personId: string | undefined): string
}

//
const mostShown = 50

/** Shows the latest requests and events of a client and a person, with the form that chooses them. */
export function Journal(props: JournalProps): HtmlEscapedString | Promise<HtmlEscapedString> {
  const { journal, filter, clients, people, emailOf } = props
  const shown = journal.filter(
    ({ clientId = '', personId }) =>
      (filter.client === '' || clientId === filter.client) &&
      (filter.person === '' || emailOf(personId) === filter.person),
  )
  return (
    <>
      <form class="bar" method="get" action="/_dev#requests">
        <Choice
          id="of-client"
          label="Client"
          name="client"
          options={['', ...clients.map(({ clientId }) => clientId)]}
          chosen={filter.client}
          textOf={(id) => clients.find(({ clientId }) => clientId === id)?.name ?? 'every client'}
        />
        <Choice
          id="of-person"
          label="Person"
          name="person"
          options={['', ...people.map(({ email }) => email)]}
          chosen={filter.person}
          textOf={(email) => email || 'every person'}
        />
        <button class="plain" type="submit">
          Filter
        </button>
      </form>
      <div id="requests" data-live="">
        <Table
          label="Requests and events, newest first"
          columns={['Time', 'Request or event', 'Response', 'Client', 'Person']}
          rows={shown
            .slice(-mostShown)
            .reverse()
            .map((entry) => [...journalRow(entry), emailOf(entry.personId)])}
          narrow="lines"
          empty="No requests yet."
        />
      </div>
    </>
  )
}

function journalRow(entry: JournalEntry): string[] {
  const time = new Date(entry.atMs).toISOString().slice(11, 23)
  if (entry.kind === 'event') return [time, entry.event, '', entry.clientId ?? '']
  const { origin, method, path, status, grantType, fault } = entry
  const response = fault === undefined ? String(status) : `${status}, fault: ${fault}`
  return [time, [origin, method, path, grantType ?? ''].join(' ').trim(), response, entry.clientId ?? '']
}
