import { expect, test } from 'vitest'
import { testClock } from '../support/clock.ts'
import { rigOf } from '../support/rig-of.ts'

test.each([20, 100])('%i calls at once at expiry: one refresh, and all are 200', async (calls) => {
  const clock = testClock(Date.now())
  const rig = await rigOf({ backend: { clock, timeoutMs: 60_000 }, api: () => Response.json({}) })
  const browser = rig.browser()
  await browser.logIn()
  const [before] = await tokensOf(1)
  clock.advance(86_400_000)
  rig.sent.length = 0
  const tokens = await tokensOf(calls)
  expect(new Set(tokens).size).toBe(1)
  expect(tokens[0]).not.toBe(before)
  expect(rig.sent.filter(({ url }) => url.includes('grant_type=refresh_token'))).toHaveLength(1)
  expect(rig.events.filter(({ type }) => type === 'proxy_refused')).toEqual([])

  /** Reads the response to its end, because a request counts as one in progress until then. */
  async function callAndRead(): Promise<number> {
    const response = await browser.call()
    await response.text()
    return response.status
  }

  /** Calls the API so often at once. Returns the header of each request that the API got. */
  async function tokensOf(count: number): Promise<unknown[]> {
    const statuses = await Promise.all(Array.from({ length: count }, callAndRead))
    expect(new Set(statuses)).toEqual(new Set([200]))
    const sent = rig.sent.filter(({ headers }) => headers.get('authorization')?.startsWith('Bearer '))
    expect(sent).toHaveLength(count)
    return sent.map(({ headers }) => headers.get('authorization'))
  }
})
