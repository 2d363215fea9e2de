/**
 * A storage, and for a Cluster also the client. `replicas`: its reads outside of a lock go to replicas. `WAIT`: it asks for `WAIT` after
 * each script.
 */
export type WorkerStore =
  | 'redis'
  | 'postgres'
  | 'ioredis cluster'
  | 'node-redis cluster'
  | 'ioredis cluster, replicas'
  | 'node-redis cluster, WAIT'

/** What a worker is started with. */
export interface WorkerTask {
  /** `p2.1` is the second start of the process in place 2. */
  readonly name: string
  readonly kind: WorkerStore
  /** Of the storage, through a proxy of this process alone, or of the nodes of a Cluster. */
  readonly urls: readonly string[]
  /** Of the keys in Redis. */
  readonly prefix: string
  /** The file that the worker writes its history to. */
  readonly history: string
  readonly seed: string
  readonly sessions: number
  /** How many calls it has in progress at most. */
  readonly callsAtOnce: number
  /** The longest pause between two calls of the same series, in milliseconds. */
  readonly maxPauseMs: number
  /** Which share of its calls ask a session in use for its token, from 0 to 1. The others change something more often. */
  readonly askShare: number
  /** How far its wall clock is ahead, in milliseconds. */
  readonly aheadMs: number
  readonly config: { authUrl: string; baseUrl: string; clientId: string; redirectUri: string; timeoutMs: number }
  /** The email address of the user of each session. */
  readonly people: readonly string[]
}

/** What a worker is told. */
export type WorkerOrder =
  | { readonly order: 'clock'; readonly aheadMs: number }
  /** Takes all connections of its pool for this long. */
  | { readonly order: 'hold-pool'; readonly ms: number }
  /** Begins no call after those in progress, then says `idle`. */
  | { readonly order: 'stop' }
  /** Reads each session once more in a new holder, then says `done` and ends. */
  | { readonly order: 'end' }

/** What a worker says: how many calls have completed, and what it was told to say. */
export type WorkerWord = { readonly calls: number } | 'ready' | 'idle' | 'done'
