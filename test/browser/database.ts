/** What the database of `indexedDbStorage()` holds. */
interface Dump {
  /** All of it, sealed text as characters. */
  readonly text: string
  readonly keys: readonly { readonly name: string; readonly extractable: boolean }[]
  /** What a script of the page can let the browser decrypt. */
  readonly opened: readonly string[]
}

/** Runs in a page. */
export async function dumpDatabase(): Promise<Dump> {
  const database = await new Promise<IDBDatabase>((resolve) => {
    const request = indexedDB.open('agent-auth')
    request.onsuccess = () => resolve(request.result)
  })
  const records = database.transaction('records').objectStore('records')
  const settled = <T>(request: IDBRequest<T>): Promise<T> =>
    new Promise((resolve) => {
      request.onsuccess = () => resolve(request.result)
    })
  const [names, all] = await Promise.all([
    settled(records.getAllKeys()),
    settled<Record<string, unknown>[]>(records.getAll()),
  ])
  database.close()
  const opened = all.map(async ({ key, iv, text }, at) => {
    const additionalData = new TextEncoder().encode(String(names[at]))
    const algorithm = { name: 'AES-GCM', iv: iv as Uint8Array<ArrayBuffer>, additionalData }
    return new TextDecoder().decode(await crypto.subtle.decrypt(algorithm, key as CryptoKey, text as ArrayBuffer))
  })
  const values = all.flatMap((record) => Object.values(record))
  const text = values.map((value) =>
    value instanceof ArrayBuffer ? String.fromCharCode(...new Uint8Array(value)) : JSON.stringify(value),
  )
  const keys = values.filter((value) => value instanceof CryptoKey)
  return {
    text: text.join(' '),
    keys: keys.map(({ algorithm: { name }, extractable }) => ({ name, extractable })),
    opened: await Promise.all(opened),
  }
}
