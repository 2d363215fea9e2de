import { type Checks, recordKey, same } from './case.ts'

/** The longest record: two tokens of 16 KiB. */
const long = JSON.stringify({ v: 1, accessToken: 'a'.repeat(16_384), refreshToken: 'r'.repeat(16_384) })

const texts: readonly string[] = [
  '{"v":1}',
  JSON.stringify({ v: 1, scope: 'Grüße 🔑 \u2028 \u0000 \\ " \' %7B {}' }),
  '[["state",1795241081419,"pending"]]',
  'eyJhbGciOiJkaXIifQ..bm9uY2U.c2VhbGVk.dGFn',
  long,
]

/** Compares texts. Some storages parse JSON, and the library reads both. */
function sameText(seen: unknown, text: string): void {
  same('the text of a record', typeof seen === 'string' ? seen : JSON.stringify(seen ?? null), text)
}

export const recordChecks: Checks = {
  'gives back every record as it was put': async (handle) => {
    for (const text of texts) {
      await (await handle()).setItem(recordKey, text)
      sameText(await (await handle()).getItem(recordKey), text)
    }
  },
  'shows every handle what was put last': async (handle) => {
    const [one, two] = [await handle(), await handle()]
    for (let round = 0; round < 5; round++) {
      await one.setItem(recordKey, `first ${round}`)
      same('read by another handle', await two.getItem(recordKey), `first ${round}`)
      await two.setItem(recordKey, `second ${round}`)
      same('replaced by another handle', await one.getItem(recordKey), `second ${round}`)
    }
  },
  'removes for every handle, and again without complaint': async (handle) => {
    const [one, two] = [await handle(), await handle()]
    same('an absent record', await two.getItem(recordKey), null)
    await one.setItem(recordKey, 'text')
    await two.getItem(recordKey)
    await one.removeItem(recordKey)
    for (const each of [one, two]) same('a removed record', await each.getItem(recordKey), null)
    await two.removeItem(recordKey)
    await two.setItem(recordKey, 'again')
    same('a record put again', await one.getItem(recordKey), 'again')
  },
  'tells keys apart': async (handle) => {
    const storage = await handle()
    const keys = [
      recordKey,
      `${recordKey}2`,
      recordKey.replace('app', 'App'),
      recordKey.replace('%2F', '/'),
      `agent-auth:login:${'s'.repeat(43)}`,
      `agent-auth:${'k'.repeat(200)}`,
      `agent-auth:${'k'.repeat(200)}2`,
    ]
    const check = async (): Promise<void> => {
      for (const [index, key] of keys.entries())
        same(`the record of key ${index}`, await storage.getItem(key), `value ${index}`)
    }
    for (const [index, key] of keys.entries()) await storage.setItem(key, `value ${index}`)
    await check()
    await storage.removeItem(keys.shift() ?? '')
    same('the removed record', await storage.getItem(recordKey), null)
    keys.unshift('agent-auth:another')
    await storage.setItem('agent-auth:another', 'value 0')
    await check()
  },
}
