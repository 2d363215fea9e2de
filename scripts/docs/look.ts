import { createReadStream, existsSync, statSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import type { Page } from 'playwright-core'
import { launchChromium } from '../../test/support/chromium.ts'
import { builtFolder } from './folders.ts'

const contentTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.json': 'application/json',
}

/** The least ratio of contrast between text and background (WCAG 2.2, level AA). */
const minContrast = 4.5

/** Opens pages of the built site in Chromium, light and dark, and searches. Returns what is wrong. */
export async function lookAtSite(base: string): Promise<string[]> {
  const server = serve(base)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const browser = await launchChromium()
  try {
    const problems: string[] = []
    for (const colorScheme of ['light', 'dark'] as const) {
      const context = await browser.newContext({ colorScheme })
      const page = await context.newPage()
      page.on('pageerror', (error) => problems.push(`${colorScheme}: ${error.message}`))
      page.on('request', (request) => {
        if (/^https?:/.test(request.url()) && !request.url().startsWith(origin))
          problems.push(`${colorScheme}: a request to ${new URL(request.url()).host}`)
      })
      problems.push(...(await lookAt(page, `${origin}${base}`)).map((problem) => `${colorScheme}: ${problem}`))
      await context.close()
    }
    return problems
  } finally {
    await browser.close()
    server.close()
  }
}

async function lookAt(page: Page, home: string): Promise<string[]> {
  const problems: string[] = []
  await page.goto(home)
  for (const selector of ['.vp-doc p', '.VPSidebar .text', '.vp-doc h1']) {
    const contrast = await contrastOf(page, selector)
    if (contrast < minContrast) problems.push(`the contrast of ${selector} is ${contrast.toFixed(1)}`)
  }
  await page.goto(`${home}architecture.html`)
  await page.locator('.diagram svg').first().waitFor()
  await page.keyboard.press('Control+k')
  // Guides come before decisions and the API reference.
  await page.locator('#localsearch-input').fill('list agents')
  await page.locator('#localsearch-list li:first-child a[href*="api-client.html#list-all-agents"]').waitFor()
  await page.locator('#localsearch-input').fill('flow_not_found')
  await page.locator('#localsearch-list a[href*="errors.html#flow_not_found"]').first().click()
  await page.waitForURL(/errors\.html#flow_not_found$/)
  return problems
}

/** Returns the contrast between the text of an element and the first background behind it. */
async function contrastOf(page: Page, selector: string): Promise<number> {
  const element = page.locator(selector).first()
  // Not a named function: tsx gives those a helper that a page does not have.
  const colors = await element.evaluate((found) => {
    let behind: Element | null = found
    while (behind && /, 0\)$/.test(getComputedStyle(behind).backgroundColor)) behind = behind.parentElement
    return [getComputedStyle(found).color, behind ? getComputedStyle(behind).backgroundColor : 'rgb(255, 255, 255)']
  })
  const [low = 0, high = 0] = colors.map(luminance).sort((a, b) => a - b)
  return (high + 0.05) / (low + 0.05)
}

/** Returns the relative luminance of a color such as `rgb(255, 255, 255)`. */
function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = (color.match(/[\d.]+/g) ?? []).map((value) => {
    const part = Number(value) / 255
    return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function serve(base: string): Server {
  return createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? '/', 'http://x').pathname).slice(base.length)
    const file = join(builtFolder, path === '' || path.endsWith('/') ? `${path}index.html` : path)
    if (!existsSync(file) || !statSync(file).isFile()) return void response.writeHead(404).end()
    response.writeHead(200, { 'content-type': contentTypes[extname(file)] ?? 'application/octet-stream' })
    createReadStream(file).pipe(response)
  })
}
