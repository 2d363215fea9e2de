import { randomUUID } from 'node:crypto'

/** A number to find the event by; what went wrong is told to nobody outside (S-088). */
export function unexpectedErrorId(): string {
  return randomUUID()
}
