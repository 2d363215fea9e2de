import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AtEnd } from './children.ts'

/** Returns a path in a folder that is not there yet, below one that is removed at the end. */
export function freshFile(atEnd: AtEnd): string {
  const folder = mkdtempSync(join(tmpdir(), 'agent-auth-'))
  atEnd(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'private', 'sessions.json')
}
