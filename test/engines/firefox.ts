import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findOnPath } from '../support/on-path.ts'
import { type Bidi, connectBidi } from './bidi.ts'
import { type Engine, fromJson, overJson, type Profile, type Tab } from './engine.ts'
import { startProgram } from './processes.ts'

export const firefoxNames: readonly string[] = ['firefox-esr', 'firefox']

/** The browser talks to the pages under test and to nobody else. */
const quiet = {
  'app.normandy.enabled': false,
  'app.update.disabledForTesting': true,
  'browser.shell.checkDefaultBrowser': false,
  'datareporting.policy.dataSubmissionEnabled': false,
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
  'services.settings.server': 'data:,',
  'toolkit.telemetry.server': '',
}

/** A headless Firefox, spoken to over WebDriver BiDi, which it has built in. */
export async function launchFirefox(): Promise<Engine> {
  const folder = await mkdtemp(join(tmpdir(), 'agent-auth-firefox-'))
  const prefs = Object.entries(quiet).map(([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});`)
  await writeFile(join(folder, 'user.js'), prefs.join('\n'))
  const args = ['--headless', '--no-remote', '--profile', folder, '--remote-debugging-port', '0']
  const program = await startProgram(findOnPath(firefoxNames) ?? '', args, {
    ready: /WebDriver BiDi listening on (ws:\S+)/,
  })
  const close = async (): Promise<void> => {
    await program.stop()
    await rm(folder, { recursive: true, force: true })
  }
  try {
    const bidi = await connectBidi(`${program.said}/session`)
    const { capabilities } = await bidi.send<SessionStart>('session.new', { capabilities: {} })
    return { name: `Firefox ${capabilities.browserVersion}`, newProfile: () => newProfile(bidi), close }
  } catch (error) {
    await close()
    throw error
  }
}

interface SessionStart {
  readonly capabilities: { readonly browserVersion: string }
}

interface Context {
  readonly context: string
  readonly userContext: string
}

async function newProfile(bidi: Bidi): Promise<Profile> {
  const { userContext } = await bidi.send<{ userContext: string }>('browser.createUserContext', {})
  return {
    async newTab() {
      const { context } = await bidi.send<Context>('browsingContext.create', { type: 'tab', userContext })
      return tabOf(bidi, context)
    },
    async tabs() {
      const { contexts } = await bidi.send<{ contexts: Context[] }>('browsingContext.getTree', { maxDepth: 0 })
      return contexts.filter((open) => open.userContext === userContext).map(({ context }) => tabOf(bidi, context))
    },
    async close() {
      await bidi.send('browser.removeUserContext', { userContext })
    },
  }
}

function tabOf(bidi: Bidi, context: string): Tab {
  const perform = (actions: object[]): Promise<unknown> => bidi.send('input.performActions', { context, actions })
  const click = async (selector: string): Promise<void> => {
    // Fields are typed into, and windows opened, in the tab that is in front.
    await bidi.send('browsingContext.activate', { context })
    const locator = { type: 'css', value: selector }
    const { nodes } = await bidi.send<{ nodes: { sharedId: string }[] }>('browsingContext.locateNodes', {
      context,
      locator,
    })
    const [element] = nodes
    if (element === undefined) throw new Error(`there is no ${selector}`)
    const origin = { type: 'element', element: { sharedId: element.sharedId } }
    const press = [
      { type: 'pointerDown', button: 0 },
      { type: 'pointerUp', button: 0 },
    ] as const
    await perform([{ type: 'pointer', id: 'mouse', actions: [{ type: 'pointerMove', x: 0, y: 0, origin }, ...press] }])
  }
  return {
    async goto(url) {
      await bidi.send('browsingContext.navigate', { context, url, wait: 'complete' })
    },
    async reload() {
      await bidi.send('browsingContext.reload', { context, wait: 'complete' })
    },
    async back() {
      await bidi.send('browsingContext.traverseHistory', { context, delta: -1 })
    },
    async evaluate(run, ...args) {
      const { result, exceptionDetails } = await bidi.send<{
        result?: { value?: unknown }
        exceptionDetails?: { text: string }
      }>('script.callFunction', {
        functionDeclaration: overJson(run),
        arguments: [{ type: 'string', value: JSON.stringify(args) }],
        target: { context },
        awaitPromise: true,
      })
      if (exceptionDetails) throw new Error(exceptionDetails.text)
      return fromJson(result?.value)
    },
    click,
    async fill(selector, text) {
      await click(selector)
      const actions = [...text].flatMap((value) => [
        { type: 'keyDown', value },
        { type: 'keyUp', value },
      ])
      await perform([{ type: 'key', id: 'keyboard', actions }])
    },
    async close() {
      await bidi.send('browsingContext.close', { context })
    },
  }
}
