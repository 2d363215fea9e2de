import { expect, it } from 'vitest'
import { browserRig, call, signIn, started, statusOf } from './rig.ts'

const rig = browserRig()

it('C-103 C-106 C-109 a person signs in on the forms, calls the API, and comes back to where they were', async () => {
  rig.service.dev.autoApprove(undefined)
  const context = await rig.context()
  const page = await rig.open(context, '/memory/deep?tab=2#part')
  expect(await started(page)).toBe('signed-out')
  expect(await call(page)).toBe('login_required')
  await page.click('#redirect')
  const ada = rig.service.people.find(({ email }) => email.startsWith('ada@'))
  await page.fill('[name=email]', ada?.email ?? '')
  await page.fill('[name=password]', ada?.password ?? '')
  await page.keyboard.press('Enter')
  await page.click('[name=decision][value=approve]')
  await page.waitForURL(`${rig.origin}/memory/deep?tab=2#part`)
  expect(await started(page)).toBe('signed-in')
  expect(await call(page)).toBe(200)
  expect(rig.tokenRequests('authorization_code')).toBe(1)
  await page.evaluate(() => window.app.auth.signOut())
  expect(await statusOf(page)).toBe('signed-out')
  expect(await call(page)).toBe('login_required')
})
