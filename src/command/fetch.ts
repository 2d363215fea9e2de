import { text as textOf } from 'node:stream/consumers'
import { createBearerFetch } from '../bearer.ts'
import { attempt } from '../internal/attempt.ts'
import { type CommandLine, UsageError } from './command-line.ts'
import { openProfile, openStorage } from './profile.ts'
import type { Result } from './session.ts'

/** Sends one request to the API, and prints the body of the response. Exit code 1 is for a response that is no success. */
export async function fetchPath({ profile, rest }: CommandLine): Promise<Result> {
  const [method = '', path = '', given] = rest
  if (!/^[A-Za-z]+$/.test(method)) throw new UsageError('fetch takes METHOD PATH [BODY]')
  if (!path.startsWith('/') || path.startsWith('//')) throw new UsageError('PATH begins with one /')
  const { session, config } = await openProfile(openStorage(process.env), profile)
  const { baseUrl } = config
  const body = given === '-' ? await textOf(process.stdin) : given
  const response = await createBearerFetch(session, { baseUrl })(baseUrl + path, {
    method: method.toUpperCase(),
    headers: { accept: 'application/json', ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body }),
  })
  const text = await response.text()
  if (!response.ok) process.stderr.write(`agent-auth: the API responded with ${response.status}\n`)
  return {
    exitCode: response.ok ? 0 : 1,
    text: process.stdout.isTTY ? withoutControls(text) : text,
    json: { status: response.status, body: attempt<unknown>(() => JSON.parse(text)) ?? text },
  }
}

/** A response could otherwise send commands to the terminal. */
function withoutControls(text: string): string {
  return text.replace(/[^\P{Cc}\t\n]/gu, '')
}
