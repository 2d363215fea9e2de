import { inject } from 'vitest'

declare module 'vitest' {
  interface ProvidedContext {
    /** Where tests ask for a real server: see test/support/servers.ts. */
    serversUrl: string
  }
}

/** The real parts that tests can ask for: two servers, the service's command as one file, and the built package's folder. */
export type ServerName = 'postgres' | 'redis' | 'command' | 'package'

/** The URL of one of the run's own servers, or the path of what is built; the first who asks starts it, everybody else waits for the same one. */
export async function serverUrl(name: ServerName): Promise<string> {
  const answer = await fetch(`${inject('serversUrl')}/${name}`)
  const text = await answer.text()
  if (!answer.ok) throw new Error(text)
  return text
}
