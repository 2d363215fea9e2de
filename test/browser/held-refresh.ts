import type { Page } from 'playwright-core'
import { type BrowserRig, call } from './rig.ts'

export interface HeldRefresh {
  /** What the call gave that set the refresh off. */
  readonly outcome: Promise<number | string>
  /** Gives the page the response of the service. */
  answer(): void
}

/** Lets a page begin a call, and resolves when the service has answered its token request. The page waits until `answer`. */
export async function startRefresh(rig: BrowserRig, page: Page): Promise<HeldRefresh> {
  await rig.service.dev.expireAccessTokens()
  let answer = (): void => {}
  const answered = new Promise<void>((resolve) => {
    answer = resolve
  })
  const reached = new Promise<void>((resolve) => {
    void page.route(/\/auth\/v1\/token/, async (route) => {
      const response = await route.fetch()
      resolve()
      await answered
      await route.fulfill({ response })
    })
  })
  const outcome = call(page)
  outcome.catch(() => {})
  await reached
  return { outcome, answer }
}
