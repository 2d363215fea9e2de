import { createAuthConfig, createSession } from 'agent-auth'
import { test } from 'vitest'
import { nextWord, startChild } from '../support/children.ts'
import { databaseOfFile } from '../support/database-of-file.ts'
import { serverUrl } from '../support/servers-client.ts'
import { connectTo } from '../support/shared-stores.ts'
import { peopleSignedIn } from '../support/storm.ts'

const database = databaseOfFile()

// Each waits for the lease of the process that was killed, so they wait side by side. The test of files kills at each step.
for (const kind of ['redis', 'postgres'] as const)
  test.concurrent(`${kind}: a process killed after its refresh was served and before it was saved costs no user the session`, {
    tags: [kind],
  }, async ({ expect, onTestFinished }) => {
    const url = kind === 'redis' ? await serverUrl('redis') : database.url
    const size = { kind, url, sessions: 1, requests: 1 }
    // The next process may ask late, after the lease of the one that was killed.
    const { service, task } = await peopleSignedIn(onTestFinished, size, { graceMs: 600_000 })
    const child = await startChild(onTestFinished, 'refresher.ts', [JSON.stringify(task)])
    expect(await nextWord(child)).toBe('ready')
    child.send('go')
    expect(await nextWord(child)).toBe('served')
    child.kill('SIGKILL')

    const { storage, close } = await connectTo(kind, url, task.prefix)
    onTestFinished(close)
    const ended: string[] = []
    const config = createAuthConfig({ ...task.config, onEvent: ({ type }) => ended.push(type) })
    const session = createSession(config, { storage, key: 'person-0' })
    await session.ready()
    // Not its expiry, because the answer that is repeated has the rest of its life in whole seconds.
    const before = await session.getAccessToken()
    expect(await session.getAccessToken({ forceRefresh: true })).not.toBe(before)
    expect(session.state.status).toBe('signed-in')
    expect(ended).not.toContain('session_ended')
    expect(refreshes()).toBe(2)

    function refreshes(): number {
      return service.dev.journal().filter((entry) => entry.kind === 'request' && entry.grantType === 'refresh_token')
        .length
    }
  })
