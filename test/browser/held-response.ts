import type { Page, Request } from 'playwright-core'
import { type BrowserRig, call } from './rig.ts'

export interface HeldResponse {
  /** Resolves when the service has answered the token request. The page waits until `answer`. */
  readonly reached: Promise<void>
  /** Gives the page the response of the service, and resolves when the page has it or has aborted the request. */
  answer(): Promise<void>
}

/** Holds the response to the next token request of a page, which is an exchange or a refresh. */
export async function holdTokenResponse(page: Page): Promise<HeldResponse> {
  let release = (): void => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  let hold = (_: Request): void => {}
  const request = new Promise<Request>((resolve) => {
    hold = resolve
  })
  await page.route(
    /\/auth\/v1\/token/,
    async (route) => {
      const response = await route.fetch()
      hold(route.request())
      await released
      await route.fulfill({ response })
    },
    { times: 1 },
  )
  return {
    reached: request.then(() => {}),
    async answer() {
      release()
      await (await request).response()
    },
  }
}

export interface HeldRefresh {
  /** What the call gave that set the refresh off. */
  readonly outcome: Promise<number | string>
  /** Gives the page the response of the service. */
  answer(): void
}

/** Lets a page begin a call, and resolves when the service has answered its token request. The page waits until `answer`. */
export async function startRefresh(rig: BrowserRig, page: Page): Promise<HeldRefresh> {
  await rig.service.dev.expireAccessTokens()
  const held = await holdTokenResponse(page)
  const outcome = call(page)
  outcome.catch(() => {})
  await held.reached
  return { outcome, answer: () => void held.answer() }
}
