import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** The program of each platform that opens a URL in the user's browser, and its arguments before the URL. */
const openers: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

/**
 * Opens a URL in the user's browser, without a shell. Resolves when the program ends, which may be when the browser is closed.
 * Rejects if there is no program for it, or if the program fails.
 */
export async function openBrowser(url: string): Promise<void> {
  const [program = '', ...args] = openers[process.platform] ?? ['xdg-open']
  const child = spawn(program, [...args, url], { shell: false, detached: true, stdio: 'ignore' })
  child.unref()
  // Without a browser, xdg-open ends with another code, which may take some seconds.
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error('no browser')
}
