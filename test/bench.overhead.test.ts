import { expect, test } from 'vitest'
import { requestCalls, textCalls, urlsUnder } from '../bench/overhead/calls.ts'
import { middleAndHighest } from '../bench/overhead.ts'
import * as library from '../src/index.ts'

const baseUrl = 'https://api.example.com'

test.each([
  ['a URL', textCalls],
  ['a Request', requestCalls],
])('the bench of the overhead sends 16 URLs in turn with %s, and the same request by hand', async (_, callsOf) => {
  const sent: { readonly url: string; readonly authorization: string | null }[] = []
  const send: typeof fetch = async (input, init) => {
    sent.push({
      url: input instanceof Request ? input.url : String(input),
      authorization: new Headers(init?.headers).get('authorization'),
    })
    return new Response()
  }
  const urls = urlsUnder(baseUrl)
  expect(new Set(urls).size).toBe(16)
  const { hand, bearer } = await callsOf(library, baseUrl, send)
  for (const url of urls) await hand(url)
  const byHand = sent.splice(0)
  for (const url of urls) await bearer(url)
  expect(byHand.map(({ url }) => url)).toEqual(urls)
  expect(sent).toEqual(byHand)
  expect(byHand[0]?.authorization).toMatch(/^Bearer ./)
})

test('of several processes, the bench of the overhead holds the one with the median ratio, and gives the highest', () => {
  const measured = (value: number, hand: number) =>
    ({ name: 'call', value, unit: 'µs', peers: { 'by hand': hand }, target: { most: 2.5, of: 'by hand' } }) as const
  // Neither the highest time nor the median of the times has the median ratio.
  expect(middleAndHighest([measured(1.3, 0.5), measured(2.4, 1), measured(2.2, 1)])).toEqual([
    measured(2.4, 1),
    { name: 'call, highest of 3', value: 2.6, unit: 'x by hand' },
  ])
})
