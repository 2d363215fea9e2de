/** Returns why a port or an address cannot be used and what to do, or undefined for any other error. */
export function portFailureText(error: unknown, options: { ports: string; host: string }): string | undefined {
  const { code, port, address } = error as { code?: unknown; port?: unknown; address?: unknown }
  if (code === 'EADDRINUSE') {
    return `port ${port} is in use: stop what listens there, or choose another with ${options.ports} (0 picks a free one)`
  }
  if (code === 'EACCES' && typeof port === 'number') {
    return `this user may not listen on port ${port}: choose one above 1023 with ${options.ports}`
  }
  if (code === 'EADDRNOTAVAIL') return `this machine has no address ${address}: choose another with ${options.host}`
  return undefined
}
