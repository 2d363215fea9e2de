import { setTimeout } from 'node:timers/promises'
import type { Context, MiddlewareHandler } from 'hono'
import type { StatusCode } from 'hono/utils/http-status'
import type { FaultEffect, FaultTarget } from '../../state/faults.ts'
import type { HttpEnvironment } from '../hono-environment.ts'

type StatusEffect = Extract<FaultEffect, { status: number }>

/** Applies the fault rules of a test. It comes after CORS, so that a page can read a faulty response (S-080). */
export function injectFaults(origin: FaultTarget['origin']): MiddlewareHandler<HttpEnvironment> {
  return async (c, next) => {
    // The controls stay reachable, or no test could clear the faults.
    if (/^\/_dev(\/|$)/.test(c.req.path)) return next()
    const effect = c.get('service').faults.take({ method: c.req.raw.method, path: c.req.path, origin })
    if (effect === undefined) return next()
    c.set('fault', nameOf(effect))
    if (typeof effect === 'string') return lose(c, effect, next)
    if ('delayMs' in effect) await setTimeout(effect.delayMs)
    return 'status' in effect ? responseOf(c, effect) : next()
  }
}

async function lose(
  c: Context<HttpEnvironment>,
  effect: Extract<FaultEffect, string>,
  next: () => Promise<void>,
): Promise<Response | undefined> {
  c.env.loss = effect === 'truncate' ? 'second-half' : 'everything'
  if (effect === 'reset') return c.body(null)
  await next()
  return undefined
}

function responseOf(c: Context<HttpEnvironment>, { status, body, headers = {} }: StatusEffect): Response {
  const bodiless = body === undefined || status === 204 || status === 205 || status === 304
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const type = typeof body === 'string' ? 'text/plain; charset=utf-8' : 'application/json; charset=utf-8'
  const own: Record<string, string> = { 'Cache-Control': 'no-store', ...(bodiless ? {} : { 'Content-Type': type }) }
  const all = new Headers(own)
  for (const [name, value] of Object.entries(headers)) all.set(name, value)
  return c.newResponse(bodiless ? null : text, { status: status as StatusCode, headers: all })
}

function nameOf(effect: FaultEffect): string {
  if (typeof effect === 'string') return effect
  return 'status' in effect ? `status ${effect.status}` : `delay ${effect.delayMs} ms`
}
