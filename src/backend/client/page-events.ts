import { attempt } from '../../internal/attempt.ts'

export interface PageListeners {
  /** Another client of this origin sent a text. */
  readonly received: (text: unknown) => void
  /** The page was in the background or in the back/forward cache, and is back. */
  readonly returned: () => void
  /** Ends the connection. */
  readonly signal: AbortSignal
}

/** Connects this page with the other clients of its origin. Returns a function that sends them a text. */
export function openPageEvents(
  channelName: string,
  { received, returned, signal }: PageListeners,
): (text: string) => void {
  let channel: BroadcastChannel | undefined
  const join = (): void => {
    // Old browsers have none, and Firefox throws if it blocks site data.
    attempt(() => {
      channel ??= new BroadcastChannel(channelName)
      channel.onmessage = ({ data }) => received(data)
    })
  }
  const leave = (): void => {
    channel?.close()
    channel = undefined
  }
  // Only `pageshow` has `persisted`, which is false at the first load of a page. The other two events have none, and count.
  const onReturn = ({ persisted = true }: { persisted?: boolean }): void => {
    if (!persisted || document.hidden) return
    join()
    returned()
  }
  for (const type of ['focus', 'pageshow', 'visibilitychange'])
    addEventListener(type, onReturn as EventListener, { signal })
  // An open channel can keep a page out of the back/forward cache.
  addEventListener('pagehide', leave, { signal })
  signal.onabort = leave
  join()
  return (text) => channel?.postMessage(text)
}
