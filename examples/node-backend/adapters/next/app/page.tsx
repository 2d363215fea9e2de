/** @jsxImportSource react */
import { headers } from 'next/headers'
import type { ReactElement } from 'react'
import { theBackend } from '../backend.ts'

export default async function Page(): Promise<ReactElement> {
  const { status } = await theBackend().getSession({ headers: await headers() })
  return <p>{status}</p>
}
