import { attempt } from '../../internal/values.ts'

/** Everything that is sent over the channel between tabs. */
export type TabMessage = 'changed' | 'signed-out'

/** The channel to the other tabs of this origin. */
export interface TabChannel {
  send(type: TabMessage): void
  close(): void
}

export interface TabListeners {
  /** Another tab sent a message. */
  readonly received: (type: TabMessage | undefined) => void
  /** This tab was hidden, frozen, offline or in the back/forward cache, and is back. It may have missed a message. */
  readonly returned: () => void
}

/**
 * Connects this page, or the worker of one, with the other tabs of its origin until it is closed. The channel has the name of the
 * session's record. Does nothing elsewhere, such as in a service worker.
 */
export function openTabChannel(name: string, { received, returned }: TabListeners): TabChannel {
  const closing = new AbortController()
  let channel: BroadcastChannel | undefined
  const join = (): void => {
    // Firefox throws if it blocks site data.
    channel ??= attempt(() => new BroadcastChannel(name))
    if (channel) channel.onmessage = ({ data }) => received(data?.type)
  }
  const leave = (): void => {
    channel?.close()
    channel = undefined
  }
  // A dedicated worker repeats the events of its page.
  if (globalThis.document || 'DedicatedWorkerGlobalScope' in globalThis) {
    const { signal } = closing
    onReturn(() => {
      join()
      returned()
    }, signal)
    // An open channel can keep a page out of the back/forward cache.
    addEventListener('pagehide', leave, { signal })
    join()
  }
  return {
    send: (type) => channel?.postMessage({ type }),
    close() {
      leave()
      closing.abort()
    },
  }
}

/** Calls a function whenever this page was hidden, frozen, offline or in the back/forward cache, and is back. */
export function onReturn(returned: () => void, signal: AbortSignal): void {
  const listener = ({ type, persisted = true }: Event & { persisted?: boolean }): void => {
    if (persisted && !(type === 'visibilitychange' && document.hidden === true)) returned()
  }
  // The capture phase at the window runs before the page's own listeners, which may call the API.
  for (const type of ['pageshow', 'online', 'visibilitychange', 'resume'])
    addEventListener(type, listener, { capture: true, signal })
}
