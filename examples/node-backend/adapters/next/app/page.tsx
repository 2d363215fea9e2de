/** @jsxImportSource react */
import { headers } from 'next/headers'
import type { ReactElement } from 'react'
import { theBackend } from '../backend'

export default async function Page(): Promise<ReactElement> {
  // Reading the headers first tells `next build` that this page is rendered for each request.
  const request = { headers: await headers() }
  const { status } = await theBackend().getSession(request)
  return <p>{status}</p>
}
