import { hashOf } from '../../ui/style.ts'

/**
 * Updates the parts marked `data-live` every two seconds while the page is visible. It replaces a part only if its text
 * changed, so that a selection stays. Without the script the page is the same, and a reload updates it.
 */
export const liveScript: string = `
const status = document.getElementById('live')
status.textContent = 'Up to date within two seconds.'
const refresh = async () => {
  if (document.hidden) return
  try {
    const response = await fetch(location.href)
    if (!response.ok) throw new Error(response.statusText)
    const fresh = new DOMParser().parseFromString(await response.text(), 'text/html')
    for (const part of document.querySelectorAll('[data-live]')) {
      const next = fresh.getElementById(part.id)
      if (next && next.innerHTML !== part.innerHTML) part.replaceWith(next)
    }
    status.textContent = 'Up to date within two seconds.'
  } catch {
    status.textContent = 'The service does not respond.'
  }
}
const again = () => setTimeout(() => refresh().then(again), 2000)
again()
`

export const liveScriptHash: string = hashOf(liveScript)
