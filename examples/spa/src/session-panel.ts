import type { AuthEvent } from 'agent-auth'
import { countOpenTabs } from 'example-common/open-tabs.ts'
import { timeLeft } from 'example-common/time-left.ts'
import { byId } from './elements.ts'

const shownEvents = 6

/** Shows what the library tells of itself; an event never holds a secret. */
export function log(event: AuthEvent): void {
  const line = document.createElement('li')
  const { type, ...rest } = event
  const words = Object.values(rest).filter((value) => typeof value === 'string' && !value.includes('/'))
  line.textContent = [new Date().toLocaleTimeString(), type, ...words].join(' · ').replaceAll('_', ' ')
  const list = byId('log')
  list.prepend(line)
  while (list.children.length > shownEvents) list.lastElementChild?.remove()
}

/** Keeps the number of tabs and the time left up to date. */
export function startSessionPanel(expiresAtMs: () => number | undefined): void {
  countOpenTabs((count) => {
    byId('tabs').textContent = String(count)
  })
  setInterval(() => {
    byId('time-left').textContent = timeLeft(expiresAtMs())
  }, 500)
}
