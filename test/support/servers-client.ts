import { inject } from 'vitest'

declare module 'vitest' {
  interface ProvidedContext {
    /** Where tests ask for a real server: see test/support/servers.ts. */
    serversUrl: string
  }
}

/** The real servers that tests can ask for. */
export type ServerName = 'postgres' | 'redis'

/** The URL of one of the run's own servers; the first who asks starts it, everybody else waits for the same one. */
export async function serverUrl(name: ServerName): Promise<string> {
  const answer = await fetch(`${inject('serversUrl')}/${name}`)
  const text = await answer.text()
  if (!answer.ok) throw new Error(text)
  return text
}
