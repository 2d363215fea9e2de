/**
 * Matches the codes of Node and Bun for a connection that did not come about, so that no byte of a request has left. An expression,
 * because a set would be larger.
 */
const unconnected =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|E(NET|HOST)UNREACH|UND_ERR_CONNECT_TIMEOUT|ConnectionRefused|FailedToOpenSocket)$/

/** Returns the code of a failed `fetch` if no connection came about. */
export function unconnectedCode(error: unknown): string | undefined {
  const { cause, code = cause?.code } = Object(error)
  return typeof code === 'string' && unconnected.test(code) ? code : undefined
}

/**
 * Returns whether the failure of a `fetch` came before a byte of the request was sent: no connection, or a certificate that the platform
 * refuses. Browsers and Deno do not say it.
 */
export function wasNotSent(error: unknown): boolean {
  const { cause, message } = Object(error)
  // Deno says it in the text alone.
  if (typeof message === 'string' && message.includes('client error (Connect)')) return true
  // An error without a `syscall`, such as one about a certificate, counts as one of `connect`.
  const { code = '', syscall = 'connect' } = Object(cause ?? error)
  // `syscall` is tested, because a `read` or a `write` can fail with a code of `unconnected` as well. Then there was a connection, and
  // bytes may have been sent. `CERT(?!I)` leaves out the alerts of TLS, such as `ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED`, which a
  // server may send after the request.
  return /^(connect|getaddrinfo)$/.test(syscall) && (unconnected.test(code) || /CERT(?!I)|VERIFY/.test(code))
}
