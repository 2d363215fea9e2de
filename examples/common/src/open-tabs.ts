const channelName = 'example-tabs'
const sayEveryMs = 1_000
/** A hidden tab's timers may run only once a minute. */
const forgetAfterMs = 65_000

/** Counts the tabs this example is open in, and tells when the number changes. Returns how to stop. */
export function countOpenTabs(changed: (count: number) => void): () => void {
  const channel = new BroadcastChannel(channelName)
  const me = crypto.randomUUID()
  const others = new Map<string, number>()
  let told = 0
  const say = (type: 'here' | 'gone'): void => channel.postMessage({ type, id: me })
  const tell = (): void => {
    if (told === others.size + 1) return
    told = others.size + 1
    changed(told)
  }
  channel.onmessage = ({ data: { type, id } }: MessageEvent<{ type: string; id: string }>) => {
    const isNew = !others.has(id)
    if (type === 'gone') others.delete(id)
    else others.set(id, Date.now())
    if (type === 'here' && isNew) say('here')
    tell()
  }
  const timer = setInterval(() => {
    say('here')
    for (const [id, atMs] of others) if (Date.now() - atMs > forgetAfterMs) others.delete(id)
    tell()
  }, sayEveryMs)
  const leave = (): void => say('gone')
  addEventListener('pagehide', leave)
  say('here')
  tell()
  return () => {
    leave()
    removeEventListener('pagehide', leave)
    clearInterval(timer)
    channel.close()
  }
}
