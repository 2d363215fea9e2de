import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type * as one from 'agent-auth'
import { AgentAuthError, createSession, isAgentAuthError, memoryStorage } from 'agent-auth'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Bundle, bundleForNode } from '../support/bundle.ts'
import { sessionRig } from '../support/session-rig.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const hourMs = 3_600_000

/** A second copy of the library in this process, as of another version or another bundle. */
let bundle: Bundle
let copy: typeof one
beforeAll(async () => {
  bundle = await bundleForNode({ entryPoints: [`${root}src/index.ts`], external: [] })
  copy = (await import(/* @vite-ignore */ bundle.file)) as typeof one
})
afterAll(() => bundle.remove())

test('an error of another copy of the library is known by its brand and its code, also as a value', async () => {
  const theirs = await copy
    .createSession(sessionRig().realm().config)
    .getAccessToken()
    .catch((error: unknown) => error)
  expect(theirs).toBeInstanceOf(copy.AgentAuthError)
  expect(theirs).not.toBeInstanceOf(AgentAuthError)
  expect(isAgentAuthError(theirs)).toBe(true)
  expect(copy.isAgentAuthError(new AgentAuthError('timeout', 'Late.'))).toBe(true)
  expect(JSON.parse(JSON.stringify(theirs))).toMatchObject({ code: 'login_required', retryable: false })
})

test('five clients over one storage, two of another copy, refresh once, and no listener stays behind', async () => {
  const { clock, service, realm } = sessionRig()
  const storage = memoryStorage()
  const { config, session } = realm({ storage })
  await session.signIn(service.issue())
  const sessions = [session, ...[createSession, createSession].map((create) => create(config, { storage }))]
  sessions.push(...[1, 2].map(() => copy.createSession(config, { storage })))
  await Promise.all(sessions.map((each) => each.ready()))
  let calls = 0
  const ends = sessions.map((each) =>
    each.subscribe(() => {
      calls += 1
    }),
  )
  clock.advance(hourMs)
  const tokens = await Promise.all(sessions.map((each) => each.getAccessToken()))
  expect(new Set(tokens).size).toBe(1)
  expect(service.sent).toHaveLength(1)
  expect(calls).toBeGreaterThan(0)
  for (const end of [...ends, ...ends]) end()
  calls = 0
  await session.signOut()
  expect(calls).toBe(0)
})

test('import and require give one module, so that both share their classes', async () => {
  const program = `
    import { createRequire } from 'node:module'
    const imported = await import(${JSON.stringify(bundle.file)})
    const required = createRequire(import.meta.url)(${JSON.stringify(bundle.file)})
    process.stdout.write(String(required.AgentAuthError === imported.AgentAuthError))`
  const file = join(dirname(bundle.file), 'both.mjs')
  await writeFile(file, program)
  const { stdout } = await promisify(execFile)(process.execPath, ['--no-warnings', file])
  expect(stdout).toBe('true')
})
