import { text } from 'node:stream/consumers'
import { createPasswords } from '../credentials/passwords.ts'
import { loadKeys, randomSecret } from '../credentials/tokens.ts'
import { credentialLimits } from '../limits.ts'
import { replacePassword } from '../store/replace-password.ts'
import { dataFlags, dataHelp, type OfflineCommand, onStore } from './offline.ts'
import { ArgumentError } from './read-command.ts'

const { leastPasswordCharacters: least, passwordCharacters: most } = credentialLimits

const help = `agent-service reset-password: gives a user a new password

  agent-service reset-password EMAIL --data FILE
  agent-service reset-password EMAIL --data FILE --stdin < password.txt

Generates a password and prints it once. Signs the user out everywhere: sign-in sessions end, and the tokens of all applications are
revoked. A service may run on the same data. It takes the new password with the next attempt.

  --stdin                read the password from the standard input instead: ${least} to ${most} characters; a line end after it is removed
${dataHelp}`

export const resetPassword: OfflineCommand = {
  name: 'reset-password',
  help: () => help,
  flags: { ...dataFlags, stdin: { type: 'boolean' } },
  async run({ words: [email = '', ...more], flags: { stdin }, location }) {
    if (email === '' || more.length > 0) throw new ArgumentError('reset-password takes the email address of one user')
    return onStore(location, async (store) => {
      const password = stdin === true ? (await text(process.stdin)).replace(/\r?\n$/, '') : randomSecret()
      if (password.length < least || password.length > most)
        throw new Error(`a password has ${least} to ${most} characters`)
      const { hashKey } = await loadKeys(store.db)
      const passwordHash = await createPasswords({ scheme: 'scrypt', key: hashKey }).hash(password)
      const result = await replacePassword(store, { email, passwordHash, nowMs: Date.now() })
      if (result === 'unknown') throw new Error('no account has this email address')
      return stdin === true ? `${email}: done\n` : `${email}: password ${password}\n`
    })
  },
}
