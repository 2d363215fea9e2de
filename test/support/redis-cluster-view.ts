import type { RedisNode } from './redis-node.ts'

/** What a node says of a node. */
export interface SeenNode {
  readonly id: string
  readonly masterId: string | undefined
  readonly slots: readonly (readonly [first: number, last: number])[]
}

/** The nodes as one of them sees them. */
export async function viewOf(node: RedisNode): Promise<SeenNode[]> {
  const lines = String(await node.call('CLUSTER', 'NODES'))
    .trim()
    .split('\n')
  return lines.map((line) => {
    const [id = '', , , masterId, , , , , ...slots] = line.split(' ')
    return {
      id,
      masterId: masterId === '-' ? undefined : masterId,
      // A slot that moves has an entry in brackets as well.
      slots: slots.filter((range) => !range.startsWith('[')).map(rangeOf),
    }
  })
}

function rangeOf(text: string): readonly [number, number] {
  const [first, last = first] = text.split('-').map(Number)
  return [first as number, last as number]
}

/** Whether these nodes serve, see the same, and their replicas are connected to their masters. */
export async function doAgree(nodes: readonly RedisNode[]): Promise<boolean> {
  const views = await Promise.all(nodes.map(viewOf))
  const texts = new Set(views.map((view) => JSON.stringify(view.toSorted((a, b) => (a.id < b.id ? -1 : 1)))))
  if (texts.size !== 1) return false
  const healthy = await Promise.all(
    nodes.map(async (node) => {
      const [cluster, replication] = [await node.call('CLUSTER', 'INFO'), await node.call('INFO', 'replication')]
      return (
        String(cluster).includes('cluster_state:ok') && /^role:master|^master_link_status:up/m.test(String(replication))
      )
    }),
  )
  return healthy.every(Boolean)
}
