import type { Figure, Size } from '../figures.ts'
import { type Call, type Library, requestCalls, textCalls, urlsUnder } from './calls.ts'
import { compare } from './compare.ts'

const target = 2.5
const baseUrl = 'https://api.example.com'
const urls = urlsUnder(baseUrl)
const turnsPerRound = { whole: 250, short: 10 }

/** With a stub that gives the same Response every time, so that its making hides nothing. */
export async function inProcess(library: Library, input: 'text' | 'request', size: Size): Promise<Figure> {
  const response = new Response('{}')
  const stub: typeof fetch = async () => response
  const calls = await (input === 'text' ? textCalls : requestCalls)(library, baseUrl, stub)
  const name = input === 'text' ? 'in process, URL and settings' : 'in process, a Request'
  const turns = turnsPerRound[size]
  const hand = (): Promise<void> => round(calls.hand, turns)
  const bearer = (): Promise<void> => round(calls.bearer, turns)
  return compare({ name, hand, bearer, calls: turns * urls.length, target, size })
}

async function round(call: Call, turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) for (const url of urls) await call(url)
}
