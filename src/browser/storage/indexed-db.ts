import { checkOptions, type OptionKinds } from '../../config/options.ts'
import { attempt } from '../../internal/attempt.ts'
import type { BrowserStorage } from './browser-storage.ts'
import { webLock } from './web-lock.ts'

const store = 'records'

/** A record with a key of its own, which script may use but never read. */
interface Sealed {
  readonly key: CryptoKey
  readonly iv: Uint8Array<ArrayBuffer>
  readonly text: ArrayBuffer
}

/** The options of `indexedDbStorage`. */
export interface IndexedDbStorageOptions {
  /** The name of the database. Default `agent-auth`. */
  readonly database?: string | undefined
}

const optionKinds: OptionKinds<IndexedDbStorageOptions> = { database: 'string' }

/**
 * Keeps records in IndexedDB for all tabs of this origin, each sealed with AES-256-GCM by a key that cannot be exported.
 * Survives reloads; writes have ended when they are on disk. Every script of the page can still have records opened. Throws `config_invalid`.
 */
export function indexedDbStorage(options: IndexedDbStorageOptions = {}): BrowserStorage {
  checkOptions('indexedDbStorage', options, optionKinds)
  const { database = 'agent-auth' } = options
  const { open, reopen } = connection(database)
  const run = async <T>(mode: IDBTransactionMode, request: (records: IDBObjectStore) => IDBRequest<T>): Promise<T> => {
    const begin = (at: IDBDatabase): IDBTransaction => at.transaction(store, mode, { durability: 'strict' })
    const first = await open()
    // Safari can close a connection without a `close` event, and then no transaction begins on it.
    const transaction = attempt(() => begin(first)) ?? begin(await reopen(first))
    const { result } = await settled(request(transaction.objectStore(store)), transaction)
    return result
  }
  return {
    reach: 'browser',
    async getItem(key) {
      const sealed = await run<Sealed | undefined>('readonly', (records) => records.get(key))
      return sealed && unseal(key, sealed)
    },
    async setItem(key, value) {
      const sealed = await seal(key, value)
      await run('readwrite', (records) => records.put(sealed, key))
    },
    async removeItem(key) {
      await run('readwrite', (records) => records.delete(key))
    },
    ...webLock(),
  }
}

interface Connection {
  open(): Promise<IDBDatabase>
  /** Opens a new connection, unless that was done since this one failed. */
  reopen(failed: IDBDatabase): Promise<IDBDatabase>
}

/** One connection, opened when first needed and again after the browser or another tab closed it. */
function connection(name: string): Connection {
  let opening: Promise<IDBDatabase> | undefined
  const forget = (): void => {
    opening = undefined
  }
  const connect = async (): Promise<IDBDatabase> => {
    const request = indexedDB.open(name, 1)
    request.onupgradeneeded = () => request.result.createObjectStore(store)
    const { result } = await settled(request, request)
    result.onclose = forget
    result.onversionchange = () => {
      result.close()
      forget()
    }
    return result
  }
  const open = (): Promise<IDBDatabase> => {
    opening ??= connect().catch((error: unknown) => {
      forget()
      throw error
    })
    return opening
  }
  return {
    open,
    async reopen(failed) {
      if ((await open()) === failed) forget()
      return open()
    },
  }
}

/** Resolves with the request when what ends it has ended well. */
function settled<T>(request: IDBRequest<T>, ending: IDBRequest | IDBTransaction): Promise<IDBRequest<T>> {
  return new Promise((resolve, reject) => {
    const fail = (): void => reject(ending.error)
    const handlers = {
      oncomplete: () => resolve(request),
      onsuccess: () => resolve(request),
      onerror: fail,
      onabort: fail,
    }
    Object.assign(ending, handlers)
  })
}

async function seal(name: string, value: string): Promise<Sealed> {
  const key = await crypto.subtle.generateKey({ name: 'AES-GCM', length: 256 }, false, ['encrypt', 'decrypt'])
  const iv = crypto.getRandomValues(new Uint8Array(12))
  return { key, iv, text: await crypto.subtle.encrypt(algorithm(name, iv), key, encode(value)) }
}

/** What does not open is lost for good, since its key lies beside it: the session removes it as unreadable. */
async function unseal(name: string, { key, iv, text }: Sealed): Promise<string> {
  try {
    return new TextDecoder().decode(await crypto.subtle.decrypt(algorithm(name, iv), key, text))
  } catch {
    return ''
  }
}

function algorithm(name: string, iv: Uint8Array<ArrayBuffer>): AesGcmParams {
  return { name: 'AES-GCM', iv, additionalData: encode(name) }
}

function encode(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text)
}
