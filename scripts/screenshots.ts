import { mkdir, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { BrowserContext, Page } from 'playwright-core'
import type { Person, Service } from '../service/src/index.ts'
import { authorizeUrl, personOf } from '../service/test/support/login.ts'
import { launchChromium } from '../test/support/chromium.ts'
import { type RunningExample, runExample } from '../test/support/example.ts'
import { exitCodes, runCommand } from './flags.ts'

const help = `Usage: npx tsx scripts/screenshots.ts [-- --all FOLDER]

Starts agent-service with its dev controls and the example apps, walks a real Chromium through every page, and writes the
pictures of the README files to docs/screenshots. People, clients and secrets on them belong to services that end with the
command.

  --all FOLDER  write the pictures of every page, light and dark, narrow and wide, to this folder instead; a new
                temporary folder when it is -
  -h, --help    this text

Exit codes: 0 done, 1 a page did not come or there is no Chromium, 2 the arguments are wrong.
`

type Theme = 'light' | 'dark'

/** CSS pixels. */
const widths = { narrow: 390, wide: 1_200 } as const
type Width = keyof typeof widths

/** Which pictures the README files show, and how much of the page at most. */
const kept: Record<string, { width: Width; heightPx: number }> = {
  'sign-in': { width: 'narrow', heightPx: 800 },
  consent: { width: 'narrow', heightPx: 800 },
  clients: { width: 'wide', heightPx: 800 },
  dev: { width: 'wide', heightPx: 1_060 },
  login: { width: 'wide', heightPx: 800 },
  spa: { width: 'wide', heightPx: 560 },
  react: { width: 'wide', heightPx: 560 },
  'node-backend': { width: 'wide', heightPx: 560 },
}

/** Below the page's card, as above it on a narrow screen. */
const marginPx = 8

/** The pictures of the example apps, and how their commands are called. */
const exampleNames = { spa: 'spa', react: 'react', 'node-backend': 'backend' }

const docsFolder = fileURLToPath(new URL('../docs/screenshots', import.meta.url))

/** Takes a picture of what the page shows now. */
type Shoot = (name: string, page: Page) => Promise<void>

await runCommand({ name: 'screenshots', help, options: { all: { type: 'string' } } }, async ({ all }) => {
  const folder = all === '-' ? await mkdtemp(join(tmpdir(), 'agent-service-pages-')) : (all ?? docsFolder)
  await mkdir(folder, { recursive: true })
  const browser = await launchChromium({ build: 'whole' })
  const examples = new Map<string, RunningExample>()
  try {
    for (const [picture, name] of Object.entries(exampleNames)) examples.set(picture, await runExample(name))
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const width of Object.keys(widths) as Width[]) {
        const viewport = { width: widths[width], height: 800 }
        const context = await browser.newContext({ viewport, colorScheme, reducedMotion: 'reduce', locale: 'en' })
        const shoot = (all === undefined ? readmePictures : everyPicture)(folder, colorScheme, width)
        await walk(context, shoot)
        for (const [picture, example] of examples) await visitExample(context, picture, example, shoot)
        await context.close()
      }
    }
  } finally {
    await browser.close()
    for (const example of examples.values()) await example.stop()
  }
  process.stdout.write(`${folder}\n`)
  return exitCodes.ok
})

function readmePictures(folder: string, theme: Theme, width: Width): Shoot {
  return async (name, page) => {
    const picture = kept[name]
    if (picture?.width !== width) return
    const card = await page.locator('main:visible').boundingBox()
    const endPx = (card?.y ?? 0) + (card?.height ?? 0) + marginPx
    const clip = { x: 0, y: 0, width: widths[width], height: Math.min(picture.heightPx, endPx) }
    await page.screenshot({ path: join(folder, `${name}-${theme}.png`), clip, fullPage: true, animations: 'disabled' })
  }
}

function everyPicture(folder: string, theme: Theme, width: Width): Shoot {
  return async (name, page) => {
    const path = join(folder, `${name}-${width}-${theme}.png`)
    await page.screenshot({ path, fullPage: true, animations: 'disabled' })
  }
}

/** Every page once, in the order in which somebody comes across them. */
async function walk(context: BrowserContext, shoot: Shoot): Promise<void> {
  const { startService } = await import('../service/src/index.ts')
  const service = await startService({ dev: 'on' })
  try {
    const page = await context.newPage()
    await visitLogin(service, page, shoot)
    await visitClients(service, page, shoot)
    await visitOthers(service, page, shoot)
  } finally {
    await service.close()
  }
}

async function visitLogin(service: Service, page: Page, shoot: Shoot): Promise<void> {
  await page.route('https://app.demo.example/**', (route) => route.fulfill({ body: 'the application' }))
  await page.goto(authorizeUrl(service).url)
  await shoot('sign-in', page)
  await signIn(page, { email: 'ada@demo.example', password: 'not-the-password' })
  await shoot('sign-in-refused', page)
  await signIn(page, personOf(service, 'ada'))
  await page.getByRole('button', { name: 'Approve' }).waitFor()
  await shoot('consent', page)
  await page.getByRole('button', { name: 'Approve' }).click()
  await page.waitForURL('https://app.demo.example/**')
}

async function visitClients(service: Service, page: Page, shoot: Shoot): Promise<void> {
  await page.goto(`${service.authUrl}/auth/v1/clients`)
  await shoot('clients', page)
  await page.getByRole('link', { name: 'Register a client' }).click()
  await shoot('new-client', page)
  await page.getByLabel('Name').fill('Agent desk')
  await page.getByLabel('Confidential').check()
  await page.getByLabel('Redirect URIs').fill('http://localhost:3000/callback')
  await page.getByLabel('Your password').fill(personOf(service, 'ada').password)
  await page.getByRole('button', { name: 'Register' }).click()
  await shoot('new-client-refused', page)
  await page.getByLabel('Redirect URIs').fill('https://desk.example/callback')
  await page.getByLabel('Your password').fill(personOf(service, 'ada').password)
  await page.getByRole('button', { name: 'Register' }).click()
  await page.locator('#client-secret').waitFor()
  await shoot('client-secret', page)
  await page.getByRole('link', { name: 'Go to the client' }).click()
  await shoot('client', page)
}

async function visitOthers(service: Service, page: Page, shoot: Shoot): Promise<void> {
  await page.goto(`${service.authUrl}/_dev`)
  await page.getByText('Controls', { exact: true }).click()
  await page.getByRole('button', { name: 'Add the fault' }).click()
  await shoot('dev', page)
  await page
    .getByRole('link', { name: /^Login / })
    .last()
    .click()
  await page.getByRole('heading', { level: 1, name: /^Login/ }).waitFor()
  await shoot('login', page)
  await page.goto(`${service.authUrl}/auth/v1/authorize?client_id=nobody`)
  await shoot('error', page)
}

/** Signed in, with a second tab open. */
async function visitExample(
  context: BrowserContext,
  picture: string,
  example: RunningExample,
  shoot: Shoot,
): Promise<void> {
  const page = await context.newPage()
  await page.goto(example.origin)
  await page.getByText('You are signed out').waitFor()
  await shoot(`${picture}-signed-out`, page)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await signIn(page, example)
  await page.getByRole('button', { name: 'Approve' }).click()
  await page.getByText('12 agents').waitFor()
  const second = await context.newPage()
  await second.goto(example.origin)
  await second.getByText('12 agents').waitFor()
  // The parts that change with time have been filled in by then.
  await page.waitForTimeout(1_500)
  await shoot(picture, page)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByText('You are signed out').waitFor()
}

async function signIn(page: Page, { email, password }: Pick<Person, 'email' | 'password'>): Promise<void> {
  await page.getByLabel('Email address').fill(email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
}
