import type { EndpointId } from '../access-change.ts'

/** The endpoints whose need of active billing was changed. Only access changes set it. */
export interface EndpointBilling {
  of(id: EndpointId): 'needed' | 'not-needed' | undefined
  set(id: EndpointId, billing: 'needed' | 'not-needed'): void
  clear(): void
}

export function createEndpointBilling(): EndpointBilling {
  const changed = new Map<EndpointId, 'needed' | 'not-needed'>()
  return {
    of: (id) => changed.get(id),
    set: (id, billing) => void changed.set(id, billing),
    clear: () => changed.clear(),
  }
}
