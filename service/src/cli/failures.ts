import { portFailureText } from '../server/port-failure.ts'
import { databaseFailureText } from './database-failure.ts'

/** Returns why the command failed and what to do. */
export function failureText(error: unknown, databaseUrl: string | undefined): string {
  const ofPort = portFailureText(error, '--auth-port and --base-port')
  if (ofPort !== undefined) return ofPort
  const { message, cause } = error as { message?: unknown; cause?: unknown }
  if (cause instanceof Error) return databaseFailureText(cause, databaseUrl)
  return typeof message === 'string' && message !== '' ? asTyped(message) : 'the service did not start'
}

const typed: Record<string, string> = { authUrl: '--auth-url', baseUrl: '--base-url', databaseUrl: 'DATABASE_URL' }

/** Names the options of `createServiceConfig` as the user of the command typed them. */
function asTyped(message: string): string {
  return message.replace(/\b(?:authUrl|baseUrl|databaseUrl)\b/g, (name) => typed[name] ?? name)
}
