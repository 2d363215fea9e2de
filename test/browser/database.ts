/** Runs in a page: what the database of `indexedDbStorage()` holds, sealed text as characters. */
export async function dumpDatabase(): Promise<{ text: string; keys: { name: string; extractable: boolean }[] }> {
  const database = await new Promise<IDBDatabase>((resolve) => {
    const request = indexedDB.open('agent-auth')
    request.onsuccess = () => resolve(request.result)
  })
  const all = await new Promise<Record<string, unknown>[]>((resolve) => {
    const request = database.transaction('records').objectStore('records').getAll()
    request.onsuccess = () => resolve(request.result)
  })
  database.close()
  const values = all.flatMap((record) => Object.values(record))
  const text = values.map((value) =>
    value instanceof ArrayBuffer ? String.fromCharCode(...new Uint8Array(value)) : JSON.stringify(value),
  )
  const keys = values.filter((value) => value instanceof CryptoKey)
  return { text: text.join(' '), keys: keys.map(({ algorithm: { name }, extractable }) => ({ name, extractable })) }
}
