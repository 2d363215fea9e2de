import { type Call, type Library, requestCalls, textCalls, urlsUnder } from './calls.ts'
import { compare } from './compare.ts'

const target = 2.5
const baseUrl = 'https://api.example.com'
const urls = urlsUnder(baseUrl)
const turnsPerRound = 250

/** With a stub that gives the same Response every time, so that its making hides nothing. */
export async function inProcess(library: Library, input: 'text' | 'request'): Promise<boolean> {
  const response = new Response('{}')
  const stub: typeof fetch = async () => response
  const calls = await (input === 'text' ? textCalls : requestCalls)(library, baseUrl, stub)
  const name = input === 'text' ? 'in process, URL and settings' : 'in process, a Request'
  return compare(name, { hand: () => round(calls.hand), bearer: () => round(calls.bearer) }, callsPerRound, target)
}

const callsPerRound = turnsPerRound * urls.length

async function round(call: Call): Promise<void> {
  for (let turn = 0; turn < turnsPerRound; turn++) for (const url of urls) await call(url)
}
