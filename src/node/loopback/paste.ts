import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'

/** Where a user without a browser on this machine sees the URL and pastes the callback. */
export interface Terminal {
  /** Where the callback is pasted. It is paused when the login ends. */
  readonly input: Readable
  /** Where the URL is printed. */
  readonly output: Writable
}

/** Shows the authorize URL to the user and reads the callback. What was printed is never printed again. */
export interface PastePrompt {
  /** Prints the URL and reads what the user pastes, because the URL was not opened. */
  ask(): void
  /** Prints the URL in case no browser opened. Reads only if `mayRead` is true, because the input may be for the tool. */
  remind(mayRead: boolean): void
}

/**
 * Creates the prompt, which offers each line that the user pastes to `accept`. That returns what is wrong with the line, or
 * undefined. After `signal`, the prompt prints and reads nothing.
 */
export function createPastePrompt(
  { input, output }: Terminal,
  url: string,
  { accept, signal }: { accept(url: string): string | undefined; signal: AbortSignal },
): PastePrompt {
  let isPrinted = false
  let isRead = false
  const print = (request: string): void => {
    if (!isPrinted) output.write(`${request} in a browser on any machine:\n\n  ${url}\n\n`)
    isPrinted = true
  }
  const read = (): void => {
    if (isRead) return
    isRead = true
    output.write('If the last page cannot be shown, paste its URL here and press Enter. Its code expires soon.\n')
    // Without a terminal of its own, readline leaves Ctrl-C to the process.
    const lines = createInterface({ input, terminal: false })
    lines.on('line', (line) => {
      const text = withoutMarks(line)
      if (!text) return
      const address = addressIn(text)
      const problem = address === undefined ? 'This is no URL. A code alone cannot be checked.' : accept(address)
      if (problem === undefined) return
      output.write(`${problem} Paste the whole URL of the last page, or run curl with it in quotes on this machine.\n`)
    })
    // This pauses the input, because a terminal that is still read keeps the process from its exit.
    signal.addEventListener('abort', () => lines.close(), { once: true })
  }
  return {
    ask() {
      // A browser can fail after the callback has come.
      if (signal.aborted) return
      print('Open this URL')
      read()
    },
    remind(mayRead) {
      if (signal.aborted) return
      print('If no browser opened, open this URL')
      if (mayRead) read()
    },
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
