import { fileURLToPath } from 'node:url'
import { soakTests } from '../../soak/tests.ts'

// What soakTests makes of one row of the tests beside this file, for test/soak.test.ts.
const [row = ''] = process.argv.slice(2)
const root = fileURLToPath(new URL('./', import.meta.url))
const onRound = (round: number, of?: number): void => void process.stdout.write(`${round} of ${of}\n`)
const say = (text: string): void => void process.stdout.write(`${text}\n`)
await soakTests({ row, files: [], root }, { share: 1, onRound }).then(say, (error: Error) => say(error.message))
process.exitCode = 0
