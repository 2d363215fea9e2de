import { lstat, open, rename, rm } from 'node:fs/promises'
import { inMebibytes } from '../http/messages.ts'
import { seedLimits } from '../limits.ts'
import { seedOf, seedText } from '../seed/export-seed.ts'
import { linkTarget } from '../store/libsql.ts'
import { readSeedRows } from '../store/read-seed-rows.ts'
import { dataFlags, dataHelp, type OfflineCommand, onStore } from './offline.ts'
import { ArgumentError } from './read-command.ts'

const help = `agent-service export: writes the data of a data file or of DATABASE_URL as a seed

  agent-service export --data FILE > SEED.json
  agent-service export --data FILE --out SEED.json

The seed has tenants, users, clients, models and agents, and the hashes of passwords and secrets with the key of these hashes. Keep it
as secret as the data. Sign-ins, tokens and the history of clients are not in it. A service may run on the same data.
Data of another version of agent-service is refused, and stays as it is.

  --out SEED             write to this file, which is replaced only by a whole export, with mode 0600
${dataHelp}`

export const exportData: OfflineCommand = {
  name: 'export',
  help: () => help,
  flags: { ...dataFlags, out: { type: 'string' } },
  async run({ words, flags: { out }, location }) {
    if (words.length > 0 || out === '') throw new ArgumentError('export takes options only; --out takes a path')
    const text = await onStore(location, async (store) => {
      const data = await readSeedRows(store.db, Date.now())
      if (data.tenants.length === 0) throw new Error('the database holds no data yet; start the service on it first')
      return seedText(seedOf(data))
    })
    if (Buffer.byteLength(text) > seedLimits.fileBytes)
      process.stderr.write(
        `agent-service: warning: the export is larger than the ${inMebibytes(seedLimits.fileBytes)} that --seed reads\n`,
      )
    if (typeof out !== 'string') return text
    await replaceFile(out, text)
    return ''
  },
}

/** Replaces a file by one with this text, or leaves it as it is: the text is first written to a file beside it. */
async function replaceFile(file: string, text: string): Promise<void> {
  const target = linkTarget(file)
  const unfinished = `${target}.${process.pid}.unfinished`
  try {
    // The new file would take the place of a device such as /dev/null.
    const there = await lstat(target).catch(() => undefined)
    if (there?.isFile() === false) throw Object.assign(new Error('no file'), { code: 'no file' })
    const handle = await open(unfinished, 'wx', 0o600)
    try {
      await handle.writeFile(text)
      // The name must not change before the text is on the disk.
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(unfinished, target)
  } catch (error) {
    await rm(unfinished, { force: true })
    const { code } = error as { code?: unknown }
    throw new Error(`the export could not be written to ${JSON.stringify(file)} (${code}); nothing was changed there`)
  }
}
