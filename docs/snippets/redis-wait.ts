import type { NodeRedisClient } from 'agent-auth/redis'

interface Cluster extends Omit<NodeRedisClient, 'isOpen'> {
  sendCommand(key: string | undefined, isReadonly: boolean, command: string[]): Promise<unknown>
}

export function withWait(cluster: Cluster): NodeRedisClient {
  return {
    isOpen: true,
    get: (key) => cluster.get(key),
    async eval(script, options) {
      const result = await cluster.eval(script, options)
      const replicas = await cluster.sendCommand(options.keys[0], false, ['WAIT', '1', '1000'])
      if (Number(replicas) === 0) throw new Error('NOREPLICAS No replica has the write.')
      return result
    },
  }
}
