/** Returns where the address leads that a login on loopback opens. It leads there once. */
export async function openedUrl(address: string): Promise<string> {
  const response = await fetch(address, { redirect: 'manual' })
  return response.headers.get('location') ?? ''
}
