import { beforeAll, expect, it } from 'vitest'
import type {} from '../browser/isolated-app.ts'
import { isolatedScripts } from '../browser/isolated-scripts.ts'
import { call, engineRig, reload, signIn, waitFor } from './rig.ts'

const rig = engineRig()
let scripts: Awaited<ReturnType<typeof isolatedScripts>>
beforeAll(async () => {
  scripts = await isolatedScripts()
})

it.each(['memory', 'indexed'] as const)(
  'tokens in a worker, %s: a login, one refresh for ten calls, a reload, and a sign-out that the other tab sees',
  async (kind) => {
    Object.assign(rig.app.scripts, scripts(rig.service, { kind }))
    const tab = await rig.signedIn(kind)
    await rig.service.dev.expireAccessTokens()
    const calls = await tab.evaluate(() => Promise.all(Array.from({ length: 10 }, () => window.app.call())))
    expect(calls).toEqual(Array.from({ length: 10 }, () => 200))
    expect(rig.requests({ grantType: 'refresh_token' })).toHaveLength(1)
    expect(await reload(tab)).toBe(kind === 'indexed' ? 'signed-in' : 'signed-out')
    if (kind === 'memory') await signIn(tab)
    const other = await rig.open(`/${kind}/home`)
    if (kind === 'memory') await signIn(other)
    expect(await call(other)).toBe(200)
    expect(await tab.evaluate(() => window.app.codeOf(window.isolated.signOut()))).toBe('resolved')
    await waitFor(other, () => window.isolated.session.state.status === 'signed-out')
    expect(await call(other)).toBe('login_required')
  },
)
