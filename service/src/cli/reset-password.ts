import { existsSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import { commandName } from '../command-name.ts'
import { loadKeys } from '../credentials/keys.ts'
import { createPasswords } from '../credentials/passwords.ts'
import { randomSecret } from '../credentials/secrets.ts'
import { credentialLimits } from '../limits.ts'
import { replacePassword } from '../store/replace-password.ts'
import { openStore } from '../store/store.ts'
import { argumentProblem } from './argument-problem.ts'
import { refuseDataFile } from './data-file.ts'
import { failureText } from './failures.ts'
import { whereData } from './where-data.ts'

const { leastPasswordCharacters: least, passwordCharacters: most } = credentialLimits

const help = `agent-service reset-password: gives a user a new password

  agent-service reset-password EMAIL --data FILE
  agent-service reset-password EMAIL --data FILE --stdin < password.txt

Generates a password and prints it once. Signs the user out everywhere: sign-in sessions end, and the tokens of all applications are
revoked. A service may run on the same data. It takes the new password with the next attempt.

  --stdin                read the password from the standard input instead: ${least} to ${most} characters; a line end after it is removed
  --data FILE            the data file (default: AGENT_SERVICE_DATA; without it a URL of PostgreSQL says where the data is)
  --database-url URL     \`postgresql://…\` (default: AGENT_SERVICE_DATABASE_URL or DATABASE_URL)
  -h, --help             print this text

Exit codes: 0 done or help, 1 refused or failed, 2 wrong arguments.
`

const flags = {
  data: { type: 'string' },
  'database-url': { type: 'string' },
  stdin: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const

interface Reset {
  email: string
  source: 'stdin' | 'generated'
  location: ReturnType<typeof whereData>
}

/** `agent-service reset-password EMAIL`; returns the exit code. */
export async function resetPasswordMain(args: string[]): Promise<0 | 1 | 2> {
  const read = readArguments(args)
  if (read === 'help') {
    process.stdout.write(help)
    return 0
  }
  if (typeof read === 'string') return complain(`${read}\nTry ${commandName()} reset-password --help`, 2)
  const { email, source, location } = read
  const { dataFile, databaseUrl } = location
  // Opening a misspelt name would create an empty database.
  if (dataFile !== undefined && !existsSync(dataFile))
    return complain(`there is no data file ${JSON.stringify(dataFile)}`, 1)
  const problem = dataFile === undefined ? undefined : refuseDataFile(dataFile)
  if (problem !== undefined) return complain(problem, 1)
  const password = source === 'stdin' ? (await text(process.stdin)).replace(/\r?\n$/, '') : randomSecret()
  if (password.length < least || password.length > most)
    return complain(`a password has ${least} to ${most} characters`, 1)
  try {
    const result = await resetPassword({ email, password, dataFile, databaseUrl })
    if (result === 'unknown') return complain('no account has this email address', 1)
    process.stdout.write(source === 'stdin' ? `${email}: done\n` : `${email}: password ${password}\n`)
    return 0
  } catch (error) {
    return complain(failureText(error, databaseUrl), 1)
  }
}

function readArguments(args: string[]): Reset | string {
  try {
    const { values, positionals } = parseArgs({ args, options: flags, allowPositionals: true })
    if (values.help) return 'help'
    const [email = '', ...more] = positionals
    if (email === '' || more.length > 0) return 'reset-password takes the email address of one user'
    const location = whereData({ data: values.data, 'database-url': values['database-url'] }, process.env)
    if (Object.keys(location).length === 0) return 'reset-password needs --data FILE or DATABASE_URL'
    return { email, source: values.stdin ? 'stdin' : 'generated', location }
  } catch (error) {
    return argumentProblem(error, { args, flags: Object.keys(flags), words: [] })
  }
}

interface NewPassword {
  email: string
  password: string
  dataFile: string | undefined
  databaseUrl: string | undefined
}

async function resetPassword({ email, password, ...location }: NewPassword): Promise<'done' | 'unknown'> {
  const store = await openStore(location, { migrations: 'refuse' })
  try {
    const { hashKey } = await loadKeys(store.db)
    const passwordHash = await createPasswords({ scheme: 'scrypt', key: hashKey }).hash(password)
    return await replacePassword(store, { email, passwordHash, nowMs: Date.now() })
  } finally {
    await store.close()
  }
}

function complain(problem: string, exitCode: 1 | 2): 1 | 2 {
  process.stderr.write(`agent-service: ${problem}\n`)
  return exitCode
}
