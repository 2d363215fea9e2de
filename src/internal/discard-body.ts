/** Frees the connection of an answer nobody reads. Not awaited: a copied stream may never say that it is done. */
export function discardBody({ body }: Response): void {
  body?.cancel().catch(() => {})
}
