import { checkNames } from '../../internal/values.ts'
import type { BrowserStorage } from '../options.ts'
import { webLock } from './web-lock.ts'

const store = 'records'

/** An encrypted record and its own key, which scripts can use but not read. */
interface EncryptedRecord {
  readonly key: CryptoKey
  readonly iv: Uint8Array<ArrayBuffer>
  readonly text: ArrayBuffer
}

/** The options of `indexedDbStorage`. */
export interface IndexedDbStorageOptions {
  /** Sets the name of the database. Default: `agent-auth`. */
  readonly database?: string | undefined
}

/**
 * Keeps records in IndexedDB for all tabs of this origin and over reloads, as the option `storage` (default: the memory of the
 * page). All tabs share a lock. In a browser without Web Locks it is of this page only. If IndexedDB is missing or blocked, the session
 * keeps its record in memory and emits `storage_degraded`. Each record is encrypted with AES-256-GCM and its own key, which cannot be
 * exported. A write ends when it is on disk. This does not stop XSS: a script of the page can let the browser decrypt a record.
 * Throws `config_invalid`.
 */
export function indexedDbStorage(options: IndexedDbStorageOptions = {}): BrowserStorage {
  const { database = 'agent-auth' } = checkNames('indexedDbStorage', options, ['database'])
  let connection: Promise<IDBDatabase> | undefined
  const forget = (): void => {
    connection = undefined
  }
  const run = async <T>(mode: IDBTransactionMode, request: (records: IDBObjectStore) => IDBRequest<T>): Promise<T> => {
    const begin = async (): Promise<IDBTransaction> => {
      connection ??= connect(database, forget)
      return (await connection).transaction(store, mode, { durability: 'strict' })
    }
    // Safari can close a connection without a `close` event, and then no transaction begins on it.
    const transaction = await begin().catch(() => {
      forget()
      return begin()
    })
    const { result } = await settled(request(transaction.objectStore(store)), transaction)
    return result
  }
  return {
    reach: 'browser',
    async getItem(key) {
      const record = await run<EncryptedRecord | undefined>('readonly', (records) => records.get(key))
      return record ? decrypt(key, record) : null
    },
    async setItem(key, value) {
      const record = await encrypt(key, value)
      await run('readwrite', (records) => records.put(record, key))
    },
    async removeItem(key) {
      await run('readwrite', (records) => records.delete(key))
    },
    ...webLock(),
  }
}

/** Opens the database. Calls `closed` when the browser or another tab closes it. */
async function connect(name: string, closed: () => void): Promise<IDBDatabase> {
  const request = indexedDB.open(name, 1)
  request.onupgradeneeded = () => request.result.createObjectStore(store)
  const { result } = await settled(request, request)
  result.onclose = closed
  result.onversionchange = () => {
    result.close()
    closed()
  }
  return result
}

/** Resolves with the request when `ending`, which is the request or its transaction, succeeds. */
function settled<T>(request: IDBRequest<T>, ending: IDBRequest | IDBTransaction): Promise<IDBRequest<T>> {
  return new Promise((resolve, reject) => {
    const fail = (): void => reject(ending.error)
    const succeed = (): void => resolve(request)
    Object.assign(ending, { oncomplete: succeed, onsuccess: succeed, onerror: fail, onabort: fail })
  })
}

async function encrypt(name: string, value: string): Promise<EncryptedRecord> {
  const key = await crypto.subtle.generateKey({ name: 'AES-GCM', length: 256 }, false, ['encrypt', 'decrypt'])
  const iv = crypto.getRandomValues(new Uint8Array(12))
  return { key, iv, text: await crypto.subtle.encrypt(algorithm(name, iv), key, encode(value)) }
}

/** Returns an empty text if the record cannot be decrypted. The next sign-in writes over it. */
async function decrypt(name: string, { key, iv, text }: EncryptedRecord): Promise<string> {
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
