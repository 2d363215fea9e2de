// @module-tag chromium

import { beforeAll, expect, it } from 'vitest'
import { buildScript } from '../../browser/built-app.ts'
import { browserRig, untilTrue } from '../../browser/rig.ts'

const rig = browserRig()
let script = ''
beforeAll(async () => {
  script = await buildScript('../e2e/routers/router-starts-app.ts')
})

it.each([
  'vue-router, ready() before app.use(router)',
  'vue-router, ready() beside it',
  'React Router',
  'TanStack Router',
  'SvelteKit, ready() in load',
] as const)('%s: after the login the user is at the return URL, and no ready() rejects', async (order) => {
  rig.app.scripts = { '/app.js': script }
  const context = await rig.context()
  await context.addInitScript((name) => {
    window.order = name
  }, order)
  const page = await context.newPage()
  await page.goto(`${rig.origin}/indexed/home`)
  await untilTrue(page, () => window.starts?.results.length > 0)
  await page.evaluate(() => window.starts.auth.signIn({ returnTo: '/indexed/account?tab=2' }))
  await untilTrue(page, () => window.starts?.shown() === '/indexed/account?tab=2')
  await untilTrue(page, () => location.pathname === '/indexed/account')
  await page.evaluate(() => window.starts.auth.ready())
  expect(new Set(await page.evaluate(() => window.starts.results))).toEqual(new Set(['signed-in']))
  expect(page.url()).toBe(`${rig.origin}/indexed/account?tab=2`)
  expect(await page.evaluate(() => window.starts.shown())).toBe('/indexed/account?tab=2')
  expect(rig.tokenRequests('authorization_code')).toBe(1)
})
