/** The element with this id, which index.html is known to have. */
export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  const found = document.getElementById(id)
  if (!found) throw new Error(`index.html has no element #${id}`)
  return found as T
}

/** A row of a table. Text only: what comes from a server is never markup. */
export function row(...cells: readonly string[]): HTMLTableRowElement {
  const line = document.createElement('tr')
  for (const text of cells) line.insertCell().textContent = text
  return line
}
