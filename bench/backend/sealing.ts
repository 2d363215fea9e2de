import { sealData, unsealData } from 'iron-session'
import { sealKeys } from '../../src/backend/secrets.ts'
import { seal, unseal } from '../../src/storage/seal.ts'
import { line, quietest } from './rounds.ts'

const target = 4
const times = 100
const password = 'a-password-of-more-than-32-characters'

/** Seal and unseal of a 2 KB session, against iron-session in the same run. */
export async function sealing(): Promise<boolean> {
  const data = { accessToken: 'a'.repeat(1_000), refreshToken: 'r'.repeat(1_000) }
  const keys = await sealKeys([password])()
  const { ours, iron } = await quietest(
    {
      async ours() {
        for (let done = 0; done < times; done++)
          JSON.parse(await unseal(keys, 'session', await seal(keys, 'session', JSON.stringify(data))))
      },
      async iron() {
        for (let done = 0; done < times; done++) await unsealData(await sealData(data, { password }), { password })
      },
    },
    60,
  )
  line('seal + unseal 2 KB', `${((ours * 1_000) / times).toFixed(0)} µs`)
  line('  iron-session', `${((iron * 1_000) / times).toFixed(0)} µs`)
  line('  ratio', `${(iron / ours).toFixed(1)} x (target: at least ${target} x)`)
  return iron / ours >= target
}
