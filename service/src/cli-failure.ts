/** Why the service did not start, as somebody at a terminal can act on it. */
export function failureText(error: unknown): string {
  const { code, port, message } = error as { code?: unknown; port?: unknown; message?: unknown }
  if (code === 'EADDRINUSE') {
    return `port ${port} is in use: stop what listens there, or choose another with --auth-port and --base-port (0 picks a free one)`
  }
  if (code === 'EACCES' && typeof port === 'number') {
    return `this user may not listen on port ${port}: choose one above 1023 with --auth-port and --base-port`
  }
  return typeof message === 'string' && message !== '' ? message : 'it did not start'
}
