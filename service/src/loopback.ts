/** The hosts by which a client can reach a loopback server. */
export const loopbackHosts: readonly string[] = ['127.0.0.1', 'localhost', '[::1]']

/** Returns whether only this machine can reach the origin. */
export function isLoopback(origin: string): boolean {
  const { hostname } = new URL(origin)
  return loopbackHosts.includes(hostname) || /^127(?:\.\d{1,3}){3}$/.test(hostname)
}

/** Returns whether a listener on this IP address takes connections of this machine only. */
export function isLoopbackAddress(address: string): boolean {
  return address === '::1' || /^127(?:\.\d{1,3}){3}$/.test(address)
}

/** Returns the host of a URL at which this machine reaches a listener on this IP address. */
export function urlHostOf(address: string): string {
  if (address === '0.0.0.0') return '127.0.0.1'
  if (address === '::') return '[::1]'
  return address.includes(':') ? `[${address}]` : address
}
