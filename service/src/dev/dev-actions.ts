import type { FormField } from '../auth/own-form.ts'
import type { FaultEffect } from '../faults.ts'
import type { DevControls } from '../service.ts'

/** What a button of the dev page does; text is something to show. */
type DevAction = (dev: DevControls, get: FormField) => Promise<unknown>

const minuteMs = 60_000

const effects: Record<string, FaultEffect> = {
  'drop-after-commit': 'drop-after-commit',
  reset: 'reset',
  truncate: 'truncate',
  'status 500': { status: 500, body: { error: 'server_error' } },
  'status 503': { status: 503, headers: { 'Retry-After': '1' } },
  'delay 2 s': { delayMs: 2_000 },
}

export const effectNames: readonly string[] = Object.keys(effects)

const actions: Record<string, DevAction> = {
  advance: async (dev, get) => dev.advance(Number(get('minutes')) * minuteMs),
  expire: async (dev) => dev.expireAccessTokens(),
  revoke: async (dev) => dev.revokeRefreshTokens(),
  reset: async (dev) => dev.reset(),
  'clear-faults': async (dev) => dev.clearFaults(),
  'auto-approve': async (dev, get) => dev.autoApprove(get('email')),
  'session-token': async (dev, get) => `Session token: ${await dev.mintSessionToken(get('email') ?? '')}`,
  'add-fault': async (dev, get) => {
    const effect = effects[get('effect') ?? '']
    if (effect === undefined) throw new TypeError('there is no such effect')
    const path = get('path')
    dev.addFault({ match: path === undefined ? {} : { path }, effect, times: Number(get('times') ?? 1) })
  },
}

/** Does it, and says what to show; what cannot be done comes back as text as well. */
export async function actOn(
  dev: DevControls,
  get: FormField,
): Promise<{ kind: 'done'; text: string | undefined } | { kind: 'refused'; problem: string }> {
  const name = get('action') ?? ''
  const action = Object.hasOwn(actions, name) ? actions[name] : undefined
  if (action === undefined) return { kind: 'refused', problem: 'there is no such control' }
  try {
    const text = await action(dev, get)
    return { kind: 'done', text: typeof text === 'string' ? text : undefined }
  } catch (error) {
    return { kind: 'refused', problem: error instanceof Error ? error.message : 'it failed' }
  }
}
