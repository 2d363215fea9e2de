// @module-tag chromium

import { createBrowserAuth } from 'agent-auth/browser'
import type { Page } from 'playwright-core'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { buildScript } from '../../browser/built-app.ts'
import { browserRig, untilTrue } from '../../browser/rig.ts'
import { loadRendering, type ReactMajor, reactAlias, reactMajors } from '../../support/react-versions.ts'
import type {} from './hydration-app.ts'

const rig = browserRig()

async function untilShown(page: Page, text: string): Promise<void> {
  await untilTrue(page, (wanted) => document.querySelector('#root p')?.textContent === wanted, text)
}

const seen = (page: Page): Promise<string[]> => page.evaluate(() => window.reactApp.seen)

describe.each(reactMajors)('React %i, taking over what its server rendered, in StrictMode', (major: ReactMajor) => {
  let script: string
  let rendered: string
  let complaints: string[]
  beforeAll(async () => {
    script = await buildScript('../e2e/react/hydration-app.ts', reactAlias(major))
    const { renderView } = await loadRendering(major)
    const { authUrl, baseUrl } = rig.service
    rendered = renderView(createBrowserAuth({ authUrl, baseUrl, clientId: 'any', redirectUri: `${rig.origin}/` }))
    expect(rendered).toContain('<p>loading</p>')
  })
  beforeEach(() => {
    rig.app.scripts['/app.js'] = script
    rig.app.rendered = rendered
    complaints = []
  })

  async function open(path: string): Promise<Page> {
    const page = await (await rig.context()).newPage()
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text())
    })
    await page.goto(rig.origin + path)
    return page
  }

  it('a user signs in with one exchange, reloads and signs out, and React logs no error', async () => {
    const page = await open('/indexed/home?x=1')
    await untilShown(page, 'signed-out')
    expect(await page.evaluate(() => window.reactApp.version)).toMatch(new RegExp(`^${major}\\.`))
    expect(await seen(page)).toEqual(['loading', 'signed-out'])
    await page.click('#in')
    await untilShown(page, 'signed-in')
    expect(page.url()).toBe(`${rig.origin}/indexed/home?x=1`)
    expect(await seen(page)).toEqual(['loading', 'signed-in'])
    expect(rig.tokenRequests('authorization_code')).toBe(1)
    await page.reload()
    await untilShown(page, 'signed-in')
    expect(await seen(page)).toEqual(['loading', 'signed-in'])
    await page.click('#out')
    await untilShown(page, 'signed-out')
    expect(complaints).toEqual([])
  })

  it('the error of a failed callback is shown until a user is signed in, and ends no stored session', async () => {
    const forged = `/indexed/callback?error=access_denied&state=redirect.${'A'.repeat(43)}`
    const page = await open(forged)
    await untilShown(page, 'signed-out flow_not_found')
    await page.click('#in')
    await untilShown(page, 'signed-in')
    await page.goto(rig.origin + forged)
    await untilShown(page, 'signed-in')
    expect(await seen(page)).toEqual(['loading', 'signed-in'])
    expect(complaints).toEqual([])
  })
})
