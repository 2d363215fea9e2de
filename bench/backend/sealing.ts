import { sealData, unsealData } from 'iron-session'
import { asShipped } from './as-shipped.ts'
import type * as Measured from './measured.ts'
import { line, quietest } from './rounds.ts'

const targets = { eachTime: 1, once: 4 }
const times = 100
const password = 'a-password-of-more-than-32-characters'

/**
 * Encryption and decryption of a 2 KB session, against iron-session in the same run. It derives its keys at each call: the
 * ratio is of the same work. A backend derives its keys once in a process, which is the second ratio.
 */
export async function sealing(): Promise<boolean> {
  const { encrypt, pendingLoginKeys, decrypt } = await asShipped<typeof Measured>('bench/backend/measured.ts')
  const data = { accessToken: 'a'.repeat(1_000), refreshToken: 'r'.repeat(1_000) }
  const derived = pendingLoginKeys([password])
  const roundTrips = async (keysOf: () => ReturnType<typeof derived>): Promise<void> => {
    for (let done = 0; done < times; done++)
      JSON.parse(
        await decrypt(await keysOf(), 'session', await encrypt(await keysOf(), 'session', JSON.stringify(data))),
      )
  }
  const { ours, iron, once } = await quietest(
    {
      ours: () => roundTrips(() => pendingLoginKeys([password])()),
      async iron() {
        for (let done = 0; done < times; done++) await unsealData(await sealData(data, { password }), { password })
      },
      once: () => roundTrips(derived),
    },
    60,
  )
  const us = (ms: number): string => `${((ms * 1_000) / times).toFixed(0)} µs`
  line('encrypt + decrypt 2 KB', us(ours))
  line('  iron-session', us(iron))
  line('  ratio', `${(iron / ours).toFixed(1)} x (target: at least ${targets.eachTime} x)`)
  line('  with keys derived once', `${us(once)}, ${(iron / once).toFixed(1)} x (target: at least ${targets.once} x)`)
  return iron / ours >= targets.eachTime && iron / once >= targets.once
}
