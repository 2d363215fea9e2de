/** Returns why a port cannot be used and what to do, or undefined for any other error. */
export function portFailureText(error: unknown, options: string): string | undefined {
  const { code, port } = error as { code?: unknown; port?: unknown }
  if (code === 'EADDRINUSE') {
    return `port ${port} is in use: stop what listens there, or choose another with ${options} (0 picks a free one)`
  }
  if (code === 'EACCES' && typeof port === 'number') {
    return `this user may not listen on port ${port}: choose one above 1023 with ${options}`
  }
  return undefined
}
