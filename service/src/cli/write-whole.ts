import { lstat, open, rename, rm } from 'node:fs/promises'
import { linkTarget } from '../store/engine/private-file.ts'

const ownerOnly = 0o600

/** Replaces a file by one with this text, or leaves it as it is: the text is first written to a file beside it. */
export async function writeFileWhole(file: string, text: string): Promise<void> {
  const target = linkTarget(file)
  const unfinished = `${target}.${process.pid}.unfinished`
  const there = await lstat(target).catch(() => undefined)
  // The new file would take the place of a device such as /dev/null.
  if (there?.isFile() === false) throw unwritten(file, 'no file')
  try {
    const handle = await open(unfinished, 'wx', ownerOnly)
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
    throw unwritten(file, codeOf(error))
  }
}

function unwritten(file: string, reason: unknown): Error {
  return new Error(`the export could not be written to ${JSON.stringify(file)} (${reason}); nothing was changed there`)
}

/** Resolves once the text has been taken. Rejects if the disk behind stdout is full, or its reader is gone. */
export function writeToStdout(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.once('error', (error) => reject(stdoutFailure(error)))
    process.stdout.write(text, (error) => {
      if (error) reject(stdoutFailure(error))
      else resolve()
    })
  })
}

function stdoutFailure(error: unknown): Error {
  return new Error(`the export could not be written to stdout (${codeOf(error)}); what is there is not a whole seed`)
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown }).code
}
