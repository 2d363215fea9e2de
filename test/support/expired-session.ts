import { sessionRig } from './session-rig.ts'
import { sharedRecords } from './shared-records.ts'
import { virtualTime } from './virtual-time.ts'

/** A session that holds an expired token over a shared record, on virtual time. */
export async function expired(lifeMs = 3_600_000) {
  const time = virtualTime()
  const { service, realm } = sessionRig(time.clock, { reuse: 'grace' })
  const records = sharedRecords()
  const here = realm({ storage: records.handle() })
  const tokens = service.issue()
  await here.session.signIn(tokens)
  await time.pass(lifeMs)
  return { time, service, records, tokens, ...here }
}
