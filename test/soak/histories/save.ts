import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { formatHistory, type HistoryEvent } from '../checker/history.ts'

/** Writes a history to a file, which `npm run soak -- check` judges again. Returns its path. */
export async function saveHistory(name: string, events: readonly HistoryEvent[]): Promise<string> {
  const file = join(tmpdir(), `agent-auth-history-${name.replace(/,? /g, '-')}.jsonl`)
  await writeFile(file, formatHistory(events))
  return file
}
