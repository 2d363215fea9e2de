import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, BrowserContext } from 'playwright-core'
import { TestRunner } from 'vitest'

// Keeps what a browser showed if a test fails: the console of its pages and a picture of each.

interface Recording {
  readonly context: BrowserContext
  readonly console: string[]
}

/** The contexts of this worker that are open. */
const recordings = new Set<Recording>()
/** What is kept of each test that failed. */
const kept = new WeakMap<object, Promise<void>>()

/** Where the folders of failed tests are. */
const failures = join(import.meta.dirname, '../../node_modules/.cache/browser-failures/')

/** Records each context that the browser opens from now on. If a failed test closes a context, its recording is kept first. */
export function recordContextsOf(browser: Browser): void {
  const newContext = browser.newContext.bind(browser)
  browser.newContext = async (options) => {
    const context = await newContext(options)
    record(context)
    return context
  }
}

function record(context: BrowserContext): void {
  const lines: string[] = []
  const recording = { context, console: lines }
  recordings.add(recording)
  context.on('console', (message) => lines.push(`${message.type()}: ${message.text()}`))
  context.on('weberror', (error) => lines.push(`uncaught: ${error.error().stack}`))
  context.on('close', () => recordings.delete(recording))
  const close = context.close.bind(context)
  context.close = async (options) => {
    await keepIfFailed()
    await close(options)
  }
}

/** Keeps all open contexts of the worker, once, if the current test has failed. */
export async function keepIfFailed(): Promise<void> {
  const test = TestRunner.getCurrentTest()
  if (test?.result?.state !== 'fail' || recordings.size === 0) return
  const keeping = kept.get(test) ?? keepAll(`${test.fullName.replace(/[^\w.-]+/g, '_').slice(0, 120)}-${test.id}`)
  kept.set(test, keeping)
  await keeping
}

async function keepAll(name: string): Promise<void> {
  const folder = join(failures, name)
  await rm(folder, { recursive: true, force: true })
  for (const [index, recording] of [...recordings].entries()) {
    await keep(recording, join(folder, `${index + 1}`)).catch((error: unknown) => {
      process.stderr.write(`a context could not be kept: ${error}\n`)
    })
  }
  process.stderr.write(`what the browser showed is in ${folder}\n`)
}

async function keep({ context, console }: Recording, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'console.txt'), console.map((line) => `${line}\n`).join(''))
  for (const [index, page] of context.pages().entries()) {
    // A page that hangs has no picture.
    await page.screenshot({ path: join(folder, `page-${index + 1}.png`), timeout: 5_000 }).catch(() => {})
  }
  // The next test may use the same context.
  console.length = 0
}
