import { text as textOf } from 'node:stream/consumers'
import { createBearerFetch } from '../bearer.ts'
import { AgentAuthError, isAgentAuthError } from '../errors.ts'
import { attempt } from '../internal/values.ts'
import { type CommandLine, UsageError } from './command-line.ts'
import { escaped } from './escaped.ts'
import { holdSignals } from './hold-signals.ts'
import { openProfile, openStorage } from './profile.ts'
import type { Result } from './session.ts'

/**
 * Sends one request to the API, and prints the body of the response. The path is put behind `baseUrl`, and the token goes nowhere else.
 * Exit code 1 is for a response that is no success.
 */
export async function fetchPath({ profile, rest }: CommandLine): Promise<Result> {
  const { method, path, given } = readArguments(rest)
  const { session, config } = await openProfile(holdSignals(openStorage(process.env)), profile)
  const { baseUrl } = config
  const body = given === '-' ? await textOf(process.stdin) : given
  const headers = { accept: 'application/json', ...(body !== undefined && { 'content-type': 'application/json' }) }
  let response: Response | undefined
  let text: string
  try {
    response = await createBearerFetch(session, { baseUrl })(baseUrl + path, { method, headers, body: body ?? null })
    text = await response.text()
  } catch (error) {
    if (isAgentAuthError(error)) throw error
    // The error of the platform goes no further, because it may quote the request.
    const what = response
      ? `The response of ${baseUrl} ended early. The API may have done what was asked`
      : `${baseUrl} did not respond. Check --base-url (agent-auth doctor)`
    throw new AgentAuthError('request_failed', `${what}.`, { retryable: true })
  }
  const { ok, status } = response
  if (!ok) process.stderr.write(`agent-auth: the API responded with ${status}${adviceOn(status, path, body)}\n`)
  return {
    exitCode: ok ? 0 : 1,
    text: process.stdout.isTTY ? escaped(text) : text,
    json: { status, body: attempt<unknown>(() => JSON.parse(text)) ?? text },
  }
}

function readArguments([name = '', path = '', given]: readonly string[]) {
  const method = name.toUpperCase()
  // The platform refuses to send the last three, with an error that says less.
  if (!/^(?!CONNECT$|TRACE$|TRACK$)[A-Z]+$/.test(method)) throw new UsageError('fetch takes METHOD PATH [BODY]')
  if (!path.startsWith('/') || path.startsWith('//'))
    throw new UsageError('PATH begins with one /; the host is that of --base-url')
  if (given !== undefined && /^(GET|HEAD)$/.test(method)) throw new UsageError(`${method} takes no BODY`)
  if (given?.startsWith('@')) throw new UsageError('BODY is no file: write - as BODY, and < FILE after it')
  return { method, path, given }
}

function adviceOn(status: number, path: string, body: string | undefined): string {
  if (status === 404 && !path.startsWith('/api/')) return '; its paths begin with /api'
  return status === 415 && body === undefined ? "; it needs a BODY, such as '{}'" : ''
}
