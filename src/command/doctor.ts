import { isAgentAuthError } from '../errors.ts'
import { type Check, checkService } from './check-service.ts'
import { type CommandLine, UsageError } from './command-line.ts'
import { inTerminal } from './in-terminal.ts'
import { chooseSettings, openStorage, profileOf, whereStorage } from './profile.ts'
import type { Result } from './session.ts'

/**
 * Checks the settings, the service and the storage. It begins a login, sends a refresh token that does not exist, and searches without a
 * token. The client secret goes to the token endpoint only. Exit code 1 is for a finding.
 */
export async function doctor({ profile: name, flags }: CommandLine): Promise<Result> {
  const { origin } = flags
  // The service would seem to refuse a value that no page has as its origin.
  if (origin !== undefined && !(URL.canParse(origin) && new URL(origin).origin === origin))
    throw new UsageError('--origin takes the origin of a page, such as http://127.0.0.1:5173, without a path')
  const checks = (await findings(name, flags)).map(({ cause, fix, ...check }) => ({
    ...check,
    ...(cause && fix && { cause: inTerminal(cause), fix: inTerminal(fix) }),
  }))
  return {
    exitCode: checks.some(({ cause }) => cause !== undefined) ? 1 : 0,
    text: checks.map(textOf).join('\n'),
    // A check that was not made has no `ok`.
    json: { checks: checks.map((each) => ({ ...(each.skipped === undefined && { ok: !each.cause }), ...each })) },
  }
}

async function findings(name: string, flags: CommandLine['flags']): Promise<Check[]> {
  const storage = openStorage(process.env)
  const checks: Check[] = []
  try {
    await storage.ready()
    checks.push({ check: 'storage and lock' })
    const { config, settings } = profileOf(storage, name, await chooseSettings(storage, name, flags))
    checks.push({ check: 'settings' })
    return [...checks, ...(await checkService(config, { origin: flags.origin, ports: settings.ports }))]
  } catch (error) {
    if (!isAgentAuthError(error)) throw error
    const cause = error.message
    if (checks.length > 0)
      return [...checks, { check: 'settings', cause, fix: 'Pass the right --auth-url, --base-url and --client-id.' }]
    return [{ check: 'storage and lock', cause, fix: whereStorage(process.env) }]
  }
}

function textOf({ check, cause, fix, skipped }: Check): string {
  if (skipped !== undefined) return `skipped  ${check} (${skipped})`
  return cause === undefined ? `ok       ${check}` : `problem  ${check}: ${cause}\n         ${fix}`
}
