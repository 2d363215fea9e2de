// Checked by the compiler only: a line under `@ts-expect-error` that compiles is an error.

import type { Page } from 'playwright-core'
import { untilResolvesTrue, untilTrue } from '../browser/rig.ts'

export async function conditions(page: Page): Promise<void> {
  await untilTrue(page, () => document.title === 'App')
  await untilTrue(page, () => window.app?.started)
  await untilTrue(page, (status) => window.app?.auth.session.state.status === status, 'signed-in')
  // @ts-expect-error: a promise is always true
  await untilTrue(page, () => window.app.call())
  // @ts-expect-error: nor does an asynchronous function give a condition
  await untilTrue(page, async () => document.title === 'App')
  await untilResolvesTrue(page, () => window.app.call().then((status) => status === 200))
}
