import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'

/** Where a user without a browser on this machine sees the URL and pastes the callback. */
export interface Terminal {
  /** Where the callback is pasted. It is paused when the login ends. */
  readonly input: Readable
  /** Where the URL is printed. */
  readonly output: Writable
}

/**
 * Returns a function that prints the authorize URL with a request to open it and, if `mayRead` is true, offers each line that the user
 * pastes to `accept`. That returns what is wrong with the line, or undefined. What was printed is never printed again. After `signal`
 * nothing is printed or read.
 */
export function createPastePrompt(
  { input, output }: Terminal,
  url: string,
  { accept, signal }: { accept(url: string): string | undefined; signal: AbortSignal },
): (request: string, mayRead: boolean) => void {
  let isPrinted = false
  let isRead = false
  const take = (line: string): void => {
    const text = withoutMarks(line)
    if (!text) return
    const address = addressIn(text)
    const problem = address === undefined ? 'This is no URL. A code alone cannot be checked.' : accept(address)
    if (problem === undefined) return
    output.write(`${problem} Paste the whole URL of the last page, or run curl with it in quotes on this machine.\n`)
  }
  return (request, mayRead) => {
    // A browser can fail after the callback has come.
    if (signal.aborted) return
    if (!isPrinted) output.write(`${request} in a browser on any machine:\n\n  ${url}\n\n`)
    isPrinted = true
    if (isRead || !mayRead) return
    isRead = true
    output.write('If the last page cannot be shown, paste its URL here and press Enter. Its code expires soon.\n')
    // Without a terminal of its own, readline leaves Ctrl-C to the process.
    const lines = createInterface({ input, terminal: false }).on('line', take)
    // This pauses the input, because a terminal that is still read keeps the process from its exit.
    signal.addEventListener('abort', () => lines.close(), { once: true })
  }
}

/** Removes what a terminal puts around pasted text, and characters that are not seen. */
function withoutMarks(line: string): string {
  return line.replace(/\p{Cc}\[20[01]~|\p{Cf}/gu, '').trim()
}

/** Returns the first address in a line, which may have a label, quotes or no scheme, as browsers copy it. */
function addressIn(text: string): string | undefined {
  const [, scheme = 'http://', address] =
    /(https?:\/\/)?((?:(?<=https?:\/\/)|127\.0\.0\.1:|\[::1]:)[^\s"'<>“”«»]+)/i.exec(text) ?? []
  return address === undefined ? undefined : (scheme + address).replaceAll('&amp;', '&')
}
