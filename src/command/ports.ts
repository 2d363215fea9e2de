import { arePorts } from '../node/loopback/listen.ts'
import { UsageError } from './command-line.ts'

/** Returns the ports of a list as --ports takes it. Throws a `UsageError`. */
export function portsIn(text: string | undefined): readonly number[] | undefined {
  if (text === undefined) return undefined
  const ports = text.split(',').map(Number)
  if (!/^\d{1,5}(,\d{1,5})*$/.test(text) || !arePorts(ports))
    throw new UsageError('--ports takes numbers up to 65535 separated by commas')
  return ports
}

/** Returns the redirect URIs that a login with these ports uses. Port 0 is one that the system chooses, so that its URI is without it. */
export function redirectUrisOf(redirectUri: string, ports: readonly number[] | undefined): readonly string[] {
  if (!ports) return [redirectUri]
  const { protocol, hostname, pathname, search } = new URL(redirectUri)
  return ports.map((port) => `${protocol}//${hostname}${port === 0 ? '' : `:${port}`}${pathname}${search}`)
}
