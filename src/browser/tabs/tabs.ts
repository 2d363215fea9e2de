/** All that ever goes over the channel between tabs. */
export type TabMessage = 'changed' | 'signed-out'

export interface Tabs {
  tell(type: TabMessage): void
  close(): void
}

export interface TabListeners {
  /** Another tab told something. */
  heard(type: TabMessage): void
  /** This tab was hidden, frozen, away or offline, and is back. */
  woke(): void
}

/** Connects this page with the other tabs of its origin, until it is closed; does nothing where there is no page. */
export function joinTabs(name: string, { heard, woke }: TabListeners): Tabs {
  const { document } = globalThis
  let channel: BroadcastChannel | undefined
  const join = (): void => {
    if (channel || !document || !globalThis.BroadcastChannel) return
    channel = new BroadcastChannel(name)
    channel.onmessage = ({ data }) => {
      if (data?.type === 'changed' || data?.type === 'signed-out') heard(data.type)
    }
  }
  const leave = (): void => {
    channel?.close()
    channel = undefined
  }
  const onWake = ({ type, persisted = true }: Event & { persisted?: boolean }): void => {
    if (!persisted || (type === 'visibilitychange' && document.hidden)) return
    join()
    woke()
  }
  const wakers = ['pageshow', 'online', 'visibilitychange', 'resume']
  // An open channel can keep a page out of the back/forward cache. Captured at the window: before the page's own listeners.
  for (const type of wakers) globalThis.document && addEventListener(type, onWake, true)
  document && addEventListener('pagehide', leave)
  join()
  return {
    tell: (type) => channel?.postMessage({ type }),
    close() {
      leave()
      if (!document) return
      for (const type of wakers) removeEventListener(type, onWake, true)
      removeEventListener('pagehide', leave)
    },
  }
}
