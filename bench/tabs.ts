import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'
import { type Service, startService } from 'agent-service'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { buildPackage } from '../test/browser/built-package.ts'
import { bundleAgainst } from '../test/browser/bundle-against.ts'
import type {} from '../test/browser/page-app.ts'
import { launchChromium } from '../test/support/chromium.ts'

const tabCounts = [2, 5, 20]
const requestsPerTab = 20
/** More than the life of an access token. */
const roundMs = 11 * 60_000

export const tabsHelp: string = `Usage: npm run bench -- tabs [--rounds N]

Opens 2, 5 and 20 tabs in Chromium that all find their token expired at once, ${requestsPerTab} requests in each.

  --rounds N  how often for each number of tabs; default 20

Exit codes: 0 one refresh a round and nothing lost, 1 missed, 2 the arguments are wrong.
`

export interface Scene {
  readonly service: Service
  readonly origin: string
  readonly browser: Browser
}

/** What one round saw: how often the service was asked to refresh, and what failed. */
export interface Round {
  readonly refreshes: number
  readonly failed: number
  readonly sessionsLost: number
}

type Kind = 'open' | 'restored'

/**
 * Tabs of one person that all find their token expired in the same moment, against strict rotation with reuse detection and
 * no grace. `open` tabs slept through the expiry; `restored` ones start with a record that has expired.
 */
export async function tabs(args: string[]): Promise<0 | 1 | 2> {
  const rounds = readRounds(args)
  if (rounds === undefined) {
    process.stderr.write(tabsHelp)
    return 2
  }
  return withScene(async (scene) => {
    process.stdout.write(`${requestsPerTab} requests a tab, ${rounds} rounds\n`)
    process.stdout.write('tabs      kind      refreshes a round   failed requests   sessions lost\n')
    let isMet = true
    for (const kind of ['open', 'restored'] as const) {
      for (const count of tabCounts) {
        const onRound = (round: number): void => {
          if (process.stderr.isTTY) process.stderr.write(`\r${count} tabs, round ${round} of ${rounds} \r`)
        }
        isMet = printed(await playRounds(scene, { kind, count, rounds, onRound }), kind, count) && isMet
      }
    }
    process.stdout.write(`target: 1.00, 0 and 0: ${isMet ? 'met' : 'missed'}\n`)
    return isMet ? 0 : 1
  })
}

export async function withScene<T>(use: (scene: Scene) => Promise<T>): Promise<T> {
  const scene = await openScene()
  try {
    return await use(scene)
  } finally {
    await scene.browser.close()
    await scene.service.close()
  }
}

/** One refresh, and nothing lost. */
export function isFaultless({ refreshes, failed, sessionsLost }: Round): boolean {
  return refreshes === 1 && failed === 0 && sessionsLost === 0
}

function readRounds(args: string[]): number | undefined {
  try {
    const { values } = parseArgs({ args, options: { rounds: { type: 'string', default: '20' } } })
    const rounds = Number(values.rounds)
    return Number.isInteger(rounds) && rounds > 0 ? rounds : undefined
  } catch {
    return undefined
  }
}

/** Prints one line, and tells whether it meets the target. */
function printed(seen: readonly Round[], kind: Kind, count: number): boolean {
  const sum = (of: keyof Round): number => seen.reduce((total, round) => total + round[of], 0)
  const cells = [(sum('refreshes') / seen.length).toFixed(2), sum('failed'), sum('sessionsLost')].map(String)
  const columns = cells.map((cell) => cell.padStart(17)).join(' ')
  process.stdout.write(`${String(count).padStart(4)}      ${kind.padEnd(9)}${columns}\n`)
  return seen.every(isFaultless)
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

export async function playRounds(
  scene: Scene,
  { kind, count, rounds, onRound }: { kind: Kind; count: number; rounds: number; onRound: (round: number) => void },
): Promise<Round[]> {
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
      pages = await Promise.all(Array.from({ length: count }, () => openTab(scene, context)))
    }
    const results = await Promise.all(pages.map((page) => callTogether(page, aheadMs)))
    const answers = results.flat()
    const statuses = await Promise.all(pages.map((page) => page.evaluate(() => window.app.auth.session.state.status)))
    seen.push({
      refreshes: refreshesSince(scene.service, startMs),
      failed: answers.filter((answer) => answer !== 200).length,
      sessionsLost: statuses.some((status) => status !== 'signed-in') ? 1 : 0,
    })
    onRound(round)
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
  const others = await Promise.all(Array.from({ length: count - 1 }, () => openTab(scene, context)))
  return [first, ...others]
}

async function openTab({ origin }: Scene, context: BrowserContext): Promise<Page> {
  const page = await context.newPage()
  await page.goto(`${origin}/indexed/home`)
  await page.waitForFunction(() => window.app?.started)
  return page
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
