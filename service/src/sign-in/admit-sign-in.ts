import type { Context } from 'hono'
import type { Admitted, Throttle, TooSoon } from '../credentials/throttle.ts'
import { clientAddressOf, nearestAddressOf } from '../http/client-address.ts'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import { readDevice } from './device.ts'

/**
 * Admits a sign-in attempt, or returns how long to wait (S-021, A-71). A browser that signed in to the account before
 * counts by itself. Any other browser counts by address if addresses are known, by account and address, and by account.
 */
export function admitSignIn(c: Context<HttpEnvironment>, email: string): Admitted | TooSoon {
  const { throttles } = c.get('service')
  const device = readDevice(c, email)
  if (device !== undefined) return admitBy([[throttles.device, `${device} ${email}`]])
  const address = clientAddressOf(c)
  const all: [Throttle, string][] = address === undefined ? [] : [[throttles.signInAddress, address]]
  const counted: [Throttle, string][] = [
    [throttles.accountAddress, `${nearestAddressOf(c)} ${email}`],
    [throttles.account, email],
  ]
  return admitBy([...all, ...counted])
}

function admitBy(gates: [Throttle, string][]): Admitted | TooSoon {
  const passed: Admitted[] = []
  for (const [throttle, key] of gates) {
    const admission = throttle.admit(key)
    if (admission.kind === 'wait') {
      for (const earlier of passed) earlier.settle('undecided')
      return admission
    }
    passed.push(admission)
  }
  return {
    kind: 'go',
    settle(result) {
      for (const admission of passed) admission.settle(result)
    },
  }
}
