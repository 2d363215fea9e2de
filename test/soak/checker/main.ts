import { readFile } from 'node:fs/promises'
import { check } from './check.ts'
import { parseHistory } from './history.ts'
import { printReport } from './print.ts'

/** Checks a recorded history and prints what it showed. Resolves to the exit code: 0 held, 1 did not hold, 2 no history. */
export async function checkFile(path: string, print: (text: string) => void): Promise<0 | 1 | 2> {
  try {
    const report = check(parseHistory(await readFile(path, 'utf8')))
    print(printReport(report))
    return report.holds ? 0 : 1
  } catch (error) {
    print(error instanceof Error ? error.message : 'The history could not be read.')
    return 2
  }
}
