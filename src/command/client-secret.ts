import { readFileSync, statSync } from 'node:fs'
import { attempt, invalid } from '../internal/values.ts'
import { isOpenToOthers } from '../node/private-file.ts'

export interface SecretSource {
  readonly authUrl: string
  readonly clientId: string
  readonly clientSecretFile?: string | undefined
}

/**
 * Returns the secret of a confidential client, or undefined for any other. It is in the file that a login named, or else in
 * AGENT_CLIENT_SECRET, which belongs to the client AGENT_CLIENT_ID alone, and only at AGENT_AUTH_URL if that is set. Throws
 * `config_invalid`.
 */
export function readClientSecret(
  { authUrl, clientId, clientSecretFile }: SecretSource,
  { AGENT_AUTH_URL, AGENT_CLIENT_ID, AGENT_CLIENT_SECRET }: NodeJS.ProcessEnv,
): string | undefined {
  if (clientSecretFile !== undefined) return secretIn(clientSecretFile)
  // A profile of another service, such as one for tests, may have the same client id.
  const isItsService = !AGENT_AUTH_URL || withoutSlash(authUrl) === withoutSlash(AGENT_AUTH_URL)
  return clientId === AGENT_CLIENT_ID && isItsService ? AGENT_CLIENT_SECRET : undefined
}

/** Warns if other users can read the file. It is used all the same, because Docker and Kubernetes mount secrets so. */
export function warnOfOpenSecret(file: string): void {
  const status = attempt(() => statSync(file))
  if (status && isOpenToOthers(status))
    process.stderr.write('agent-auth: other users can read the file of --client-secret-file. Run chmod 600 on it\n')
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '')
}

function secretIn(file: string): string {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const { code = 'no code' } = error as NodeJS.ErrnoException
    invalid(
      `the file of --client-secret-file cannot be read (${code}). Check its path, or log in again with another one`,
    )
  }
  const secret = text.replace(/\r?\n$/, '')
  if (!secret) invalid('the file of --client-secret-file is empty. Write the client secret into it')
  return secret
}
