/** `m:ss` until then, for showing only: sessions keep their own time. */
export function timeLeft(expiresAtMs: number | undefined): string {
  if (expiresAtMs === undefined) return 'unknown'
  const seconds = Math.max(0, Math.round((expiresAtMs - Date.now()) / 1_000))
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}
