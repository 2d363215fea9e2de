import type { Redis } from 'ioredis'
import { onTestFinished } from 'vitest'
import type { AtEnd } from '../support/children.ts'
import { type RedisOptions, type RedisServer, startRedis } from '../support/redis-server.ts'
import { type Connected, onIoRedis, onNodeRedis } from '../support/shared-stores.ts'

/** A Redis of this test's own, stopped with the test. */
export async function ownRedis(options: RedisOptions = {}, atEnd: AtEnd = onTestFinished): Promise<RedisServer> {
  const server = await startRedis(options)
  atEnd(() => server.stop())
  return server
}

type Connect<Client> = (url: string, prefix?: string) => Promise<Connected<Client>>

function closing<Client>(connect: Connect<Client>) {
  return async (url: string, prefix?: string, atEnd: AtEnd = onTestFinished): Promise<Connected<Client>> => {
    const connected = await connect(url, prefix)
    atEnd(connected.close)
    return connected
  }
}

/** A storage of each kind of client, closed with the test. */
export const clients = { ioredis: closing(onIoRedis), 'node-redis': closing(onNodeRedis) }
export type Kind = keyof typeof clients
export const kinds = Object.keys(clients) as Kind[]

export async function onAdmin(server: RedisServer, atEnd: AtEnd = onTestFinished): Promise<Redis> {
  const { client, close } = await onIoRedis(server.url)
  atEnd(close)
  return client
}

export const retryable = { code: 'storage_failed', retryable: true }
