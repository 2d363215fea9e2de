/** @jsxImportSource hono/jsx */
import type { Context } from 'hono'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import type { PageStatus } from './layout.tsx'
import { showPage } from './layout.tsx'

/** Shows what happened and what to do, each in a paragraph. */
export function showError(
  c: Context<HttpEnvironment>,
  status: PageStatus,
  problem: string,
  fixes: readonly string[] = [],
): Promise<Response> {
  const children = (
    <>
      <p role="alert">{problem}</p>
      {fixes.map((fix) => (
        <p>{fix}</p>
      ))}
    </>
  )
  return showPage(c, { status, title: 'Request failed', children })
}
