/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import type { HtmlEscapedString } from 'hono/utils/html'

interface TableProps {
  /** Names the table for screen readers. */
  label: string
  columns: readonly string[]
  rows: readonly (readonly Child[])[]
  /** The form of a row on a narrow screen: a card with the names of the columns, or running text. */
  narrow?: 'cards' | 'lines'
  /** The text if there are no rows. */
  empty?: string
}

export function Table({
  label,
  columns,
  rows,
  narrow = 'cards',
  empty,
}: TableProps): HtmlEscapedString | Promise<HtmlEscapedString> {
  if (rows.length === 0) return <p class="soft">{empty}</p>
  return (
    <table class={narrow} aria-label={label}>
      <thead>
        <tr>
          {columns.map((column) => (
            <th scope="col">{column}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((cells) => (
          <tr>
            {cells.map((cell, index) => (
              <td data-column={columns[index]}>{cell === '' ? null : <bdi>{cell}</bdi>}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
