/** Writes a number of bytes for a message. */
export function inMebibytes(bytes: number): string {
  return `${bytes / (1_024 * 1_024)} MiB`
}

/** Writes a number of bytes for a message. */
export function inKibibytes(bytes: number): string {
  return `${bytes / 1_024} KiB`
}
