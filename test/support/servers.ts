import { createServer } from 'node:http'
import type { TestProject } from 'vitest/node'
import { listen } from './listen.ts'
import type { RunningServer } from './postgres-server.ts'
import type { ServerName } from './servers-client.ts'

// Vitest's globalSetup: runs once in the main process. A server is started when a test first asks for it, so a run
// that needs none waits for none; all are stopped at the end.

const starters: Record<ServerName, () => Promise<RunningServer>> = {
  postgres: async () => (await import('./postgres-server.ts')).startPostgres({ data: 'memory' }),
  redis: async () => (await import('./redis-server.ts')).startRedis(),
  command: async () => {
    const { file, remove } = await (await import('../../service/test/support/processes.ts')).bundleCommand()
    return { url: file, stop: remove }
  },
  package: async () => {
    const { folder, remove } = await (await import('../browser/built-package.ts')).buildPackage()
    return { url: folder, stop: remove }
  },
}

export default async function serveServers(project: TestProject): Promise<() => Promise<void>> {
  const running = new Map<string, Promise<RunningServer>>()
  const broker = createServer(async (request, response) => {
    const name = request.url?.slice(1) ?? ''
    try {
      if (!isServerName(name)) throw new Error(`there is no server named ${name}`)
      const server = running.get(name) ?? starters[name]()
      running.set(name, server)
      response.end((await server).url)
    } catch (error) {
      response.writeHead(500).end(error instanceof Error ? error.message : String(error))
    }
  })
  const port = await listen(broker)
  broker.unref()
  project.provide('serversUrl', `http://127.0.0.1:${port}`)
  return async () => {
    broker.close()
    const servers = await Promise.allSettled(running.values())
    await Promise.all(servers.map((server) => (server.status === 'fulfilled' ? server.value.stop() : undefined)))
  }
}

function isServerName(name: string): name is ServerName {
  return Object.hasOwn(starters, name)
}
