/** What messages of the library say, and what a user of the command does. */
const phrases: readonly (readonly [said: string | RegExp, done: string])[] = [
  ['Start a login.', 'Run agent-auth login.'],
  ['see details.error. Start the login again.', 'run agent-auth doctor with the same options.'],
  [/(Offer the sign-in|Start the login) again\./, 'Run agent-auth login again.'],
  ['Load its data, then repeat the call.', 'Run the command again.'],
  ['Call signOut again.', 'Run agent-auth logout again.'],
  [/If no browser opened, .*/, 'Run agent-auth login again, with --timeout 600 or --no-browser.'],
  [/Developer: check (authUrl and tokenEndpoint|tokenEndpoint and dialect)\./, 'Check --auth-url (agent-auth doctor).'],
  ['Developer: check clientId, clientSecret and basicEncoding.', 'Check --client-id and --client-secret-file.'],
  ['Developer: check redirectUri, params and dialect.', 'Check --redirect-uri.'],
  ['Developer: check scope.', 'Check --scope.'],
  ['the option ports', '--ports'],
  [' or at a host of allowHttpHosts', ''],
  [/, choose another, or set trustGroup[^.]*/, ', or choose another'],
  [/, or set trustGroup[^.]*/, ''],
]

/** Returns a message of the library with what a user of the command does, and without options that the command lacks. */
export function inTerminal(message: string): string {
  return phrases
    .reduce((text, [said, done]) => text.replace(said, done), message)
    .replace(/\b(authUrl|baseUrl|clientId|redirectUri)\b/g, (name) => `--${name.replace(/[A-Z]/, '-$&').toLowerCase()}`)
}
