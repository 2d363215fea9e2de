import { fileURLToPath } from 'node:url'
import { soakTests } from '../../soak/tests.ts'

// What soakTests makes of some rows of the tests beside this file, for test/soak.test.ts.
const root = fileURLToPath(new URL('./', import.meta.url))
const onRound = (round: number, of?: number): void => void process.stdout.write(`${round} of ${of}\n`)
const say = (text: string): void => void process.stdout.write(`${text}\n`)
for (const [index, row] of process.argv.slice(2).entries()) {
  if (index > 0) say('== next row')
  await soakTests({ row, files: [], root }, { share: 1, onRound }).then(say, (error: Error) => say(error.message))
}
process.exitCode = 0
