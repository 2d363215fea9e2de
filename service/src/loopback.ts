/** The hosts by which a client can reach a loopback server. */
export const loopbackHosts: readonly string[] = ['127.0.0.1', 'localhost', '[::1]']

/** Returns whether only this machine can reach the origin. */
export function isLoopback(origin: string): boolean {
  const { hostname } = new URL(origin)
  return loopbackHosts.includes(hostname) || /^127(?:\.\d{1,3}){3}$/.test(hostname)
}
