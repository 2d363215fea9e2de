/** Returns the code of a network failure, such as `ECONNREFUSED`. Text of another form could quote a record. */
export function networkCode(error: unknown): string | undefined {
  const { code } = error as { code?: unknown }
  return typeof code === 'string' && /^E[A-Z_]{3,20}$/.test(code) ? code : undefined
}
