// Also tests service/src/cli/texts.ts, service/src/credentials/throttle-policies.ts.
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { helpText } from '../src/cli/texts.ts'
import { throttlePolicies } from '../src/credentials/throttle-policies.ts'
import { credentialLimits } from '../src/limits.ts'

const minuteMs = 60_000

async function assumption(id: string): Promise<string> {
  const text = await readFile(fileURLToPath(new URL('../ASSUMPTIONS.md', import.meta.url)), 'utf8')
  return text.split('\n').find((line) => line.startsWith(`| ${id} |`)) ?? ''
}

test('the limits of hashing are those that ASSUMPTIONS.md and --help name', async () => {
  const { hashesAtOnce, hashesWaiting, hashesWaitingPerAccount, hashRetryMs } = credentialLimits
  expect({ hashesAtOnce, hashesWaiting, hashesWaitingPerAccount, hashRetryMs }).toEqual({
    hashesAtOnce: 2,
    hashesWaiting: 32,
    hashesWaitingPerAccount: 4,
    hashRetryMs: 5_000,
  })
  const row = await assumption('A-70')
  for (const text of ['2 slow hashes run at once', '32 attempts', '`Retry-After: 5`']) expect(row).toContain(text)
  expect(helpText).toContain('2 passwords are hashed at once and 32 attempts wait; the next gets 503')
})

test('the limits of failures are those that ASSUMPTIONS.md and --help name', async () => {
  const { device, accountAddress, account, signInAddress, client, clientAddress } = throttlePolicies
  const dayMs = 24 * 60 * minuteMs
  const own = { freeFailures: 5, firstDelayMs: 1_000, stop: { failures: 100, delayMs: dayMs }, rememberMs: dayMs }
  for (const policy of [device, accountAddress]) expect(policy).toMatchObject(own)
  expect(account).toMatchObject({ freeFailures: 100, firstDelayMs: minuteMs, rememberMs: dayMs })
  expect({
    signInAddress: signInAddress.freeFailures,
    client: client.freeFailures,
    clientAddress: clientAddress.freeFailures,
  }).toEqual({ signInAddress: 100, client: 10, clientAddress: 100 })
  for (const policy of Object.values(throttlePolicies)) expect(policy.longestDelayMs).toBe(15 * minuteMs)
  expect({ failedKeys: credentialLimits.failedKeys, deviceAccounts: credentialLimits.deviceAccounts }).toEqual({
    failedKeys: 100_000,
    deviceAccounts: 5,
  })
  const row = await assumption('A-71')
  for (const text of [
    '5 failures without a delay',
    'from 100 failures in a row on one a day',
    'after 1 min',
    '100,000',
  ]) {
    expect(row).toContain(text)
  }
  expect(await assumption('A-73')).toContain('last 5 accounts')
  expect(helpText.match(/\d+ failures, then delays from [^\n]*/g)).toEqual([
    '5 failures, then delays from 1 s to 15 min; after 100 one a day',
    '100 failures, then delays from 60 s to 15 min',
    '100 failures, then delays from 1 s to 15 min',
    '10 failures, then delays from 1 s to 15 min; a right secret passes',
  ])
})

test('trusted proxies are those that ASSUMPTIONS.md and --help name', async () => {
  expect(await assumption('A-72')).toContain('`--trusted-proxies n`, 0 to 10')
  expect(helpText).toContain(
    '--trusted-proxies N    how many reverse proxies are in front of the service; each must append',
  )
})
