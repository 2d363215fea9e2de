import { createAuthConfig, createSession, type TokenStorage } from 'agent-auth'
import { describe, expect, onTestFinished, test } from 'vitest'
import { databaseOfFile } from '../support/database-of-file.ts'
import { freshFile } from '../support/fresh-file.ts'
import { serverUrl } from '../support/servers-client.ts'
import { connectTo } from '../support/shared-stores.ts'
import { statuses, twoProcesses } from '../support/two-processes.ts'

const database = databaseOfFile()

const urls = {
  redis: () => serverUrl('redis'),
  postgres: () => database.url,
  file: () => freshFile(onTestFinished),
}
const later = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 50))
const outcome = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'done',
    (error) => error.message,
  )

for (const kind of ['redis', 'postgres', 'file'] as const)
  describe.each(['onEvent', 'fetch'] as const)(
    `${kind}: code of the app that %s begins and that goes on after it`,
    {
      tags: kind === 'file' ? [] : [kind],
    },
    (option) => {
      const open = async (): Promise<TokenStorage> => {
        const { storage, close } = await connectTo(kind, await urls[kind]())
        onTestFinished(close)
        return storage
      }

      test('ends all sessions of the user', async () => {
        const outcomes: unknown[] = []
        const react = async (): Promise<void> => {
          await later()
          outcomes.push(await outcome(both.rig.backend.endSessionsOf('ada')))
        }
        const both: Awaited<ReturnType<typeof twoProcesses>> = await twoProcesses({
          options: {
            sessions: await open(),
            ...(option === 'onEvent' && {
              onEvent: (event) =>
                void (event.type === 'token_request' && event.grant === 'refresh_token' && void react()),
            }),
          },
          ...(option === 'fetch' && {
            around: (send) => (input, init) => {
              if (String(input).includes('=refresh_token')) void react()
              return send(input, init)
            },
          }),
        })
        const [one, two] = [await both.signIn('ada'), await both.signIn('ada')]
        both.clock.advance(700_000)
        await one.here.call()
        await expect.poll(() => outcomes, { timeout: 15_000 }).toEqual(['done'])
        both.clock.advance(2_000)
        expect(await statuses(one.here, two.here, two.there)).toEqual(Array(3).fill('signed-out'))
      })

      test('signs the user of this session out, in again, and writes records', async () => {
        const outcomes: unknown[] = []
        const tokens = { accessToken: 'a', refreshToken: 'r', obtainedAtMs: 0, expiresAtMs: 1 }
        const storage = await open()
        const react = async (): Promise<void> => {
          await later()
          await session.getAccessToken()
          outcomes.push(await outcome(session.signOut()))
          outcomes.push(await outcome(session.signIn({ ...tokens, expiresAtMs: Date.now() + 3_600_000 })))
          outcomes.push(await outcome(Promise.resolve(storage.setItem('tool:statistics', 'x'))))
          outcomes.push(
            await outcome(Promise.resolve(storage.removeItem('agent-auth:https%3A%2F%2Fa.example:c:default'))),
          )
        }
        const config = createAuthConfig({
          authUrl: 'https://a.example',
          baseUrl: 'https://b.example',
          clientId: 'c',
          redirectUri: 'http://127.0.0.1/callback',
          async fetch() {
            if (option === 'fetch') void react()
            return Response.json({ access_token: 'b', refresh_token: 's', expires_in: 3600 })
          },
          onEvent(event) {
            if (option === 'onEvent' && event.type === 'token_request') void react()
          },
        })
        const session = createSession(config, { storage })
        await session.signIn(tokens)
        // On a slow machine the sign-out comes first, and this call rejects.
        await outcome(session.getAccessToken())
        await expect.poll(() => outcomes, { timeout: 15_000 }).toEqual(['done', 'done', 'done', 'done'])
      })
    },
  )
