/** Frees the connection of a response that is not read. Does not wait, because a copied stream may never end. */
export function discardBody({ body }: Response): void {
  body?.cancel().catch(() => {})
}
