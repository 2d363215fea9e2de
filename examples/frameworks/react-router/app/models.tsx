import type { ReactElement } from 'react'
import { redirectDocument, useLoaderData } from 'react-router'
import { countModels } from './backend'

export async function loader({ request }: { request: Request }): Promise<string> {
  const { pathname, search } = new URL(request.url)
  const text = await countModels(request)
  if (text === undefined) throw redirectDocument(`/auth/login?return_to=${encodeURIComponent(pathname + search)}`)
  return text
}

export default function Models(): ReactElement {
  return <p>{useLoaderData<typeof loader>()}</p>
}
