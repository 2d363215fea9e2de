/**
 * Matches the codes of Node for a connection that did not come about, so that no byte of a request has left. An expression, because
 * a set would be larger.
 */
export const unconnected: RegExp = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|E(NET|HOST)UNREACH|UND_ERR_CONNECT_TIMEOUT)$/

/** Returns the code of a failed `fetch` if no connection came about. */
export function unconnectedCode(error: unknown): string | undefined {
  const { cause, code = cause?.code } = Object(error)
  return typeof code === 'string' && unconnected.test(code) ? code : undefined
}
