/** Where a page keeps its session. */
export type PageStorage = 'indexedDb' | 'localStorage' | 'sessionStorage'

/** A record, and where the app looks for it. */
export interface PageRecord {
  readonly storage: PageStorage
  readonly database: string
  readonly name: string
  readonly text: string
}

/** Writes a record as the storages of `agent-auth/browser` do. Runs in the page, so it may use nothing outside itself. */
export async function writeRecord({ storage, database, name, text }: PageRecord): Promise<void> {
  if (storage !== 'indexedDb') {
    globalThis[storage].setItem(name, text)
    return
  }
  const bytes = (value: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(value)
  const key = await crypto.subtle.generateKey({ name: 'AES-GCM', length: 256 }, false, ['encrypt', 'decrypt'])
  const iv = crypto.getRandomValues(new Uint8Array(12))
  const algorithm = { name: 'AES-GCM', iv, additionalData: bytes(name) }
  const record = { key, iv, text: await crypto.subtle.encrypt(algorithm, key, bytes(text)) }
  await new Promise<void>((resolve, reject) => {
    const opening = indexedDB.open(database, 1)
    opening.onupgradeneeded = () => opening.result.createObjectStore('records')
    opening.onerror = () => reject(opening.error)
    opening.onsuccess = () => {
      const { result } = opening
      const transaction = result.transaction('records', 'readwrite', { durability: 'strict' })
      transaction.objectStore('records').put(record, name)
      transaction.onerror = () => reject(transaction.error)
      transaction.oncomplete = () => {
        result.close()
        resolve()
      }
    }
  })
}
