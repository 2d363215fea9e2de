/** @jsxImportSource hono/jsx */
import type { Context } from 'hono'
import type { HttpEnvironment } from '../http/environment.ts'
import type { PageStatus } from './layout.tsx'
import { showPage } from './layout.tsx'

export function showError(c: Context<HttpEnvironment>, status: PageStatus, problem: string): Promise<Response> {
  return showPage(c, { status, title: 'That did not work', children: <p role="alert">{problem}</p> })
}
