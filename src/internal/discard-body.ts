/** Cancels a body that is not read, which frees its connection or source. Does not wait, because that can take long or never end. */
export function discardBody({ body }: { readonly body: ReadableStream | null }): void {
  body?.cancel().catch(() => {})
}
