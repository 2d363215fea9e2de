import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** The program of each platform that opens a URL in the user's browser, and its arguments before the URL. */
const openers: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

/** Opens a URL in the user's browser, without a shell. Rejects if there is no program for it. */
export async function openBrowser(url: string): Promise<void> {
  const [program = '', ...args] = openers[process.platform] ?? ['xdg-open']
  const child = spawn(program, [...args, url], { shell: false, detached: true, stdio: 'ignore' })
  await once(child, 'spawn')
  child.unref()
  // Without a browser, xdg-open ends at once with another code.
  const [code] = await Promise.race([
    once(child, 'exit'),
    new Promise<[0]>((resolve) => setTimeout(resolve, 1_000, [0]).unref()),
  ])
  if (code !== 0) throw new Error('no browser')
}
