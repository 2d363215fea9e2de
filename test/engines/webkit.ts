import { freePort } from '../support/free-port.ts'
import type { Engine, Profile } from './engine.ts'
import { type Program, startProgram } from './processes.ts'
import { type Send, tabOf, webDriverAt, windowsOf } from './webdriver.ts'

/** How long the driver may take to answer, on a busy machine. */
const startMs = 60_000

/** WebKitGTK's MiniBrowser on a screen of its own, spoken to over WebDriver: a session is a browser with a fresh profile. */
export async function launchWebkit(): Promise<Engine> {
  const programs: Program[] = []
  const close = async (): Promise<void> => {
    for (const program of programs.splice(0).reverse()) await program.stop()
  }
  try {
    const screen = await startProgram('Xvfb', ['-displayfd', '3', '-nolisten', 'tcp'], { ready: /^(\d+)\n/m })
    programs.push(screen)
    const port = await freePort()
    // WebKit's sandbox does not start for root, as in most containers.
    const sandbox = process.getuid?.() === 0 ? { WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: '1' } : {}
    const env = { DISPLAY: `:${screen.said}`, ...sandbox }
    programs.push(await startProgram('WebKitWebDriver', [`--port=${port}`], { env }))
    const send = webDriverAt(`http://127.0.0.1:${port}`)
    await untilReady(send)
    const { version, end } = await startSession(send)
    await end()
    return { name: `WebKitGTK ${version}`, newProfile: () => newProfile(send), close }
  } catch (error) {
    await close()
    throw error
  }
}

async function untilReady(send: Send): Promise<void> {
  const endMs = performance.now() + startMs
  while (true) {
    try {
      return void (await send('GET', '/status'))
    } catch (error) {
      if (performance.now() > endMs) throw error
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}

interface SessionStart {
  readonly sessionId: string
  readonly capabilities: { readonly browserVersion: string }
}

async function startSession(send: Send): Promise<{ sessionId: string; version: string; end(): Promise<unknown> }> {
  const { sessionId, capabilities } = await send<SessionStart>('POST', '/session', { capabilities: {} })
  return { sessionId, version: capabilities.browserVersion, end: () => send('DELETE', `/session/${sessionId}`) }
}

async function newProfile(driver: Send): Promise<Profile> {
  const { sessionId, end } = await startSession(driver)
  const windows = windowsOf(driver, sessionId)
  let unused = await windows.send<string[]>('GET', '/window/handles')
  return {
    async newTab() {
      const [first] = unused
      unused = []
      if (first !== undefined) return tabOf(windows, first)
      const { handle } = await windows.send<{ handle: string }>('POST', '/window/new', { type: 'tab' })
      return tabOf(windows, handle)
    },
    async tabs() {
      const handles = await windows.send<string[]>('GET', '/window/handles')
      return handles.map((handle) => tabOf(windows, handle))
    },
    async close() {
      await end()
    },
  }
}
