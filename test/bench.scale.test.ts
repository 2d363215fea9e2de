import { readFileSync } from 'node:fs'
import { beforeAll, expect, test } from 'vitest'
import { onLine, timesOf } from '../bench/scale/memory.ts'
import { readResults } from '../bench/scale/results.ts'
import { type Outcome, outcomeOf, scenarios } from '../bench/scale/scenarios.ts'

const sessions = 1_000

function simulated(title: string, count = sessions): Outcome {
  const scenario = scenarios.find((one) => one.title === title)
  if (!scenario) throw new Error(`There is no scenario named ${title}.`)
  return outcomeOf(scenario, count)
}

let unreachable: Outcome

beforeAll(() => {
  unreachable = simulated('outage, 10-minute tokens')
})

test('after ten minutes without a token endpoint, each session may refresh within 30 s, and they send at most one request a session in 15 s [C-081 P-17]', () => {
  const { servedAfterS, peakInOutage, steadyPerS } = unreachable
  expect(servedAfterS).toBeGreaterThan(15)
  expect(servedAfterS).toBeLessThanOrEqual(30)
  // The first waits are shorter, but never those of many sessions at a time.
  expect(peakInOutage * steadyPerS).toBeLessThan(sessions / 15)
})

test('with Retry-After: 300 the requests after the outage are spread over 300 s [C-081]', () => {
  const asked = simulated('outage with Retry-After: 300, 10-minute tokens')
  expect(asked.servedAfterS).toBeGreaterThan(150)
  expect(asked.servedAfterS).toBeLessThanOrEqual(300)
  // Without it the peak is 17 times the steady rate.
  expect(asked.peak).toBeLessThan(8)
})

test('after the outage no retries within two minutes keep the peak under 4 times the steady rate, and those of the library are close to the least that 30 s allow [C-081]', () => {
  const { peak, lowestPeak, lowestForWait } = unreachable
  expect(lowestPeak).toBeGreaterThan(4)
  expect(peak).toBeLessThan(1.3 * lowestForWait)
})

test('calls that reach any of 1,000 processes find no delay, so each of them sends a request during the outage [C-082]', () => {
  const few = sessions / 5
  const { perSecond } = simulated('outage, calls spread over 1,000 processes, 10-minute tokens', few)
  // A session calls every 10 s, and at the end of the outage all of them need a refresh.
  const last = perSecond.slice(114, 120)
  expect(last.reduce((sum, rate) => sum + rate, 0) / last.length).toBeGreaterThan((0.8 * few) / 10)
})

test('a restart of all processes does not make tokens expire: the rate stays that of before [C-085]', () => {
  const { perSecond, steadyPerS } = simulated('restart, 10-minute tokens')
  const after = perSecond.slice(60, 66)
  expect(after.reduce((sum, rate) => sum + rate, 0) / after.length).toBeLessThan(2 * steadyPerS)
})

test('the figure of ten million sessions is on the line through the measured ones', () => {
  const points = [1, 2, 4].map((sessions) => ({ sessions, bytes: 100 + 7 * sessions }))
  expect(onLine(points, 10)).toBe(170)
})

test('docs/scale.md has the recorded figures of each scenario and size', () => {
  const lines = readFileSync(new URL('../docs/scale.md', import.meta.url), 'utf8').split('\n')
  const { outage, memory = [] } = readResults()
  const lineOf = (start: string): string => lines.find((line) => line.startsWith(`| ${start} |`)) ?? ''
  for (const { title, peak, servedAfterS, steadyPerS } of outage?.outcomes ?? []) {
    const line = lineOf(title)
    expect(line).toContain(`${steadyPerS.toLocaleString('en')}/s`)
    expect(line).toContain(`${peak} ×`)
    if (title.startsWith('outage')) expect(line).toContain(`${servedAfterS} s`)
  }
  for (const one of memory) {
    const line = lineOf(`${one.store} | ${one.sessions.toLocaleString('en')}`)
    expect(line).toContain(`${Math.round(one.bytes / one.sessions).toLocaleString('en')} bytes`)
    expect(line).toContain(`${timesOf(one).toFixed(2)} ×`)
    expect(line).toContain(one.source)
  }
  expect(outage?.sessions).toBe(1_000_000)
})
