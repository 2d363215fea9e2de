import type { Service } from 'agent-service'
import { buildScript } from './built-app.ts'
import type { IsolatedConfig } from './isolated-worker.ts'

export type WorkerOptions = Partial<IsolatedConfig> & { readonly timeoutMs?: number }

export const workerPath = '/isolated-worker.ts'

/** Builds the isolated app. Returns its scripts by path, with these options of its worker. */
export async function isolatedScripts(): Promise<
  (service: Service, options?: WorkerOptions) => Record<string, string>
> {
  const [app, worker] = await Promise.all([buildScript('isolated-app.ts'), buildScript('isolated-worker.ts')])
  return (service, options) => ({ '/app.js': app, [workerPath]: configured(worker, service, options) })
}

/** The script of a worker, with what the test app knows of the service. */
export function configured(script: string, { authUrl, baseUrl, clients }: Service, options?: WorkerOptions): string {
  const clientId = clients.find(({ name }) => name === 'Demo public')?.clientId
  return `globalThis.config = ${JSON.stringify({ authUrl, baseUrl, clientId, kind: 'memory', ...options })};${script}`
}
