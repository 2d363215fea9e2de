import { hashOf } from '../../ui/style.ts'

/**
 * Brings the parts marked `data-live` up to date while somebody looks. A part changes only when its text did, so that a
 * selection stays. Without script the page is the same and waits for a reload.
 */
export const liveScript: string = `
const status = document.getElementById('live')
status.textContent = 'Up to date within two seconds.'
const refresh = async () => {
  if (document.hidden) return
  try {
    const answer = await fetch('/_dev')
    if (!answer.ok) throw new Error(answer.statusText)
    const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html')
    for (const part of document.querySelectorAll('[data-live]')) {
      const next = fresh.getElementById(part.id)
      if (next && next.innerHTML !== part.innerHTML) part.replaceWith(next)
    }
    status.textContent = 'Up to date within two seconds.'
  } catch {
    status.textContent = 'The service does not answer.'
  }
}
const again = () => setTimeout(() => refresh().then(again), 2000)
again()
`

export const liveScriptHash: string = hashOf(liveScript)
