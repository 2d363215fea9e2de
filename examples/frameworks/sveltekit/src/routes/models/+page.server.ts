import { redirect } from '@sveltejs/kit'
import { countModels } from '$lib/backend'

export async function load({ request, url }: { request: Request; url: URL }): Promise<{ text: string }> {
  const text = await countModels(request)
  if (text === undefined) redirect(302, `/auth/login?return_to=${encodeURIComponent(url.pathname + url.search)}`)
  return { text }
}
