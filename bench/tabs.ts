import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Service, startService } from 'agent-service'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { buildPackage } from '../test/browser/built-package.ts'
import { bundleAgainst } from '../test/browser/bundle-against.ts'
import type {} from '../test/browser/page-app.ts'
import { launchChromium } from '../test/support/chromium.ts'
import type { Figure } from './figures.ts'

const tabCounts = [2, 10]
const rounds = 10
const requestsPerTab = 20
/** More than the life of an access token. */
const roundMs = 11 * 60_000

interface Scene {
  readonly service: Service
  readonly origin: string
  readonly browser: Browser
}

/** What one round saw: how often the service was asked to refresh, how many tokens the tabs have after it, and what failed. */
interface Round {
  readonly refreshes: number
  readonly tokens: number
  readonly failed: number
  readonly sessionsLost: number
}

type Kind = 'open' | 'restored'

/**
 * Tabs of one person that all find their token expired in the same moment, against strict rotation with reuse detection and
 * no grace. `open` tabs slept through the expiry. `restored` ones start with a record that has expired.
 */
export async function tabs(): Promise<Figure[]> {
  const scene = await openScene()
  const figures: Figure[] = []
  try {
    for (const kind of ['open', 'restored'] as const)
      for (const count of tabCounts) {
        const good = (await playRounds(scene, kind, count)).filter(isFaultless).length
        const name = `${count} tabs, ${kind}: one refresh, nothing lost`
        figures.push({ name, value: good, unit: `of ${rounds} rounds`, target: { least: rounds } })
      }
    return figures
  } finally {
    await scene.browser.close()
    await scene.service.close()
  }
}

/** One refresh, whose token all tabs have, and nothing lost. */
function isFaultless({ refreshes, tokens, failed, sessionsLost }: Round): boolean {
  return refreshes === 1 && tokens === 1 && failed === 0 && sessionsLost === 0
}

async function openScene(): Promise<Scene & { server: Server }> {
  const { folder, remove } = await buildPackage()
  const script = await bundleAgainst(folder, 'page-app.ts').finally(remove)
  let page = ''
  const server = createServer((request, response) => {
    const isScript = request.url === '/app.js'
    response.writeHead(200, { 'content-type': isScript ? 'text/javascript' : 'text/html' })
    response.end(isScript ? script : page)
  }).unref()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const service = await startService({ dev: 'on', redirectUris: [`${origin}/indexed/callback`], graceMs: 0 })
  service.dev.autoApprove('ada@demo.example')
  const { authUrl, baseUrl, clients } = service
  const clientId = clients.find(({ kind }) => kind === 'public')?.clientId
  page = `<!doctype html><title>Tab</title><p id="state"></p>
<script type="application/json" id="config">${JSON.stringify({ authUrl, baseUrl, clientId })}</script>
<script type="module" src="/app.js"></script>`
  return { server, service, origin, browser: await launchChromium({ build: 'whole' }) }
}

async function playRounds(scene: Scene, kind: Kind, count: number): Promise<Round[]> {
  const context = await scene.browser.newContext()
  let pages = await openTabs(scene, context, count)
  const seen: Round[] = []
  for (let round = 1; round <= rounds; round++) {
    scene.service.dev.advance(roundMs)
    const aheadMs = round * roundMs
    await context.addInitScript((ms) => {
      window.aheadMs = ms
    }, aheadMs)
    const startMs = scene.service.dev.nowMs()
    if (kind === 'restored') {
      for (const page of pages) await page.close()
      pages = await openMore(scene, context, count)
    }
    const results = await Promise.all(pages.map((page) => callTogether(page, aheadMs)))
    const answers = results.flat()
    const tokens = await Promise.all(pages.map(tokenOf))
    const statuses = await Promise.all(pages.map((page) => page.evaluate(() => window.app.auth.session.state.status)))
    seen.push({
      refreshes: refreshesSince(scene.service, startMs),
      tokens: new Set(tokens).size,
      failed: answers.filter((answer) => answer !== 200).length,
      sessionsLost: statuses.some((status) => status !== 'signed-in') ? 1 : 0,
    })
  }
  await context.close()
  return seen
}

async function openTabs(scene: Scene, context: BrowserContext, count: number): Promise<Page[]> {
  const first = await openTab(scene, context)
  await first.evaluate(() => {
    window.app.started = ''
    return window.app.auth.signIn()
  })
  await first.waitForFunction(() => window.app?.started === 'signed-in')
  return [first, ...(await openMore(scene, context, count - 1))]
}

/** Opens three tabs at a time. A tab that cannot read its storage within 4 s, because many start at once, has no session. */
async function openMore(scene: Scene, context: BrowserContext, count: number): Promise<Page[]> {
  const pages: Page[] = []
  while (pages.length < count) {
    const next = Array.from({ length: Math.min(3, count - pages.length) }, () => openTab(scene, context))
    pages.push(...(await Promise.all(next)))
  }
  return pages
}

async function openTab({ origin }: Scene, context: BrowserContext): Promise<Page> {
  const page = await context.newPage()
  await page.goto(`${origin}/indexed/home`)
  await page.waitForFunction(() => window.app?.started)
  return page
}

/** Returns the token of a tab, or nothing if it has none. */
function tokenOf(page: Page): Promise<string> {
  return page.evaluate(() => window.app.auth.session.getAccessToken().catch(() => ''))
}

/** All tabs start at the same moment of the wall clock, which they share. */
async function callTogether(page: Page, aheadMs: number): Promise<(number | string)[]> {
  const atMs = Date.now() + 300
  return page.evaluate(
    async ({ atMs, aheadMs, requests }) => {
      window.app.ahead.wallMs = aheadMs
      window.app.ahead.monotonicMs = aheadMs
      await new Promise((resolve) => setTimeout(resolve, atMs - Date.now()))
      return Promise.all(Array.from({ length: requests }, () => window.app.call()))
    },
    { atMs, aheadMs, requests: requestsPerTab },
  )
}

function refreshesSince({ dev }: Service, startMs: number): number {
  return dev
    .journal()
    .filter((entry) => entry.kind === 'request' && entry.grantType === 'refresh_token' && entry.atMs >= startMs).length
}
