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
 * Prints the authorize URL and offers each line that the user pastes to `accept`, which returns what is wrong with it, or
 * undefined. Returns when the input or the login ends.
 */
export function readPastedCallback(
  { input, output }: Terminal,
  url: string,
  { accept, signal }: { accept(url: string): string | undefined; signal: AbortSignal },
): void {
  output.write(
    `Open this URL in a browser on any machine:\n\n  ${url}\n\nIf the last page cannot be shown, paste its URL here and press Enter.\n`,
  )
  // Without a terminal of its own, readline leaves Ctrl-C to the process.
  const lines = createInterface({ input, terminal: false })
  lines.on('line', (line) => {
    const text = line.trim()
    if (!text) return
    const problem = /^https?:\/\//i.test(text) ? accept(text) : 'This is no URL. A code alone cannot be checked.'
    if (problem !== undefined) output.write(`${problem} Paste the whole URL of the last page.\n`)
  })
  // This pauses the input, because a terminal that is still read keeps the process from its exit.
  signal.addEventListener('abort', () => lines.close(), { once: true })
}
