import { sealData, unsealData } from 'iron-session'
import type { Figure, Size } from '../figures.ts'
import { asShipped } from './as-shipped.ts'
import type * as Measured from './measured.ts'
import { quietest } from './rounds.ts'

const targets = { eachTime: 1, once: 4 }
const sizes = { whole: { times: 100, rounds: 60 }, short: { times: 10, rounds: 2 } }
const peer = 'iron-session'
const password = 'a-password-of-more-than-32-characters'

/**
 * Encryption and decryption of a 2 KB session, against iron-session in the same run. It derives its keys at each call: the
 * ratio is of the same work. A backend derives its keys once in a process, which is the second ratio.
 */
export async function sealing(size: Size): Promise<Figure[]> {
  const { encrypt, pendingLoginKeys, decrypt } = await asShipped<typeof Measured>('bench/backend/measured.ts')
  const { times, rounds } = sizes[size]
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
    rounds,
  )
  const perSecond = (ms: number): number => (times * 1_000) / ms
  const peers = { [peer]: perSecond(iron) }
  const name = 'encrypt and decrypt 2 KB'
  const unit = 'per second'
  return [
    { name, value: perSecond(ours), unit, peers, target: { least: targets.eachTime, of: peer } },
    {
      name: `${name}, keys derived once`,
      ...{ value: perSecond(once), unit, peers, target: { least: targets.once, of: peer } },
    },
  ]
}
