import { isAgentAuthError } from '../errors.ts'
import type { TokenStorage } from '../storage/token-storage.ts'
import { type Check, checkService } from './check-service.ts'
import { type CommandLine, UsageError } from './command-line.ts'
import { chooseSettings, openStorage, type Profile, profileOf, whereStorage } from './profile.ts'
import type { Result } from './session.ts'

/**
 * Checks the settings, the service and the storage. It begins a login, redeems a code that does not exist, and searches without a token.
 * The client secret goes to the token endpoint only. Exit code 1 is for a finding.
 */
export async function doctor({ profile: name, flags }: CommandLine): Promise<Result> {
  checkOrigin(flags.origin)
  const storage = openStorage(process.env)
  const checks = [await checkStorage(storage)]
  const profile = checks[0]?.cause ? undefined : await openSettings(storage, name, flags)
  if (profile && 'check' in profile) checks.push(profile)
  else if (profile) {
    const options = { origin: flags.origin, ports: profile.settings.ports }
    checks.push({ check: 'settings' }, ...(await checkService(profile.config, options)))
  }
  const findings = checks.filter(({ cause }) => cause !== undefined)
  return {
    exitCode: findings.length > 0 ? 1 : 0,
    text: checks.map(textOf).join('\n'),
    json: { checks: checks.map(withVerdict) },
  }
}

/** Throws a `UsageError` for a value that no page has as its origin, because the service would then seem to refuse it. */
function checkOrigin(origin: string | undefined): void {
  if (origin === undefined || (URL.canParse(origin) && new URL(origin).origin === origin)) return
  throw new UsageError('--origin takes the origin of a page, such as http://127.0.0.1:5173, without a path')
}

/** A check that was not made has no `ok`. */
function withVerdict(each: Check): Check & { ok?: boolean } {
  return each.skipped === undefined ? { ok: each.cause === undefined, ...each } : each
}

function textOf({ check, cause, fix, skipped }: Check): string {
  if (skipped !== undefined) return `skipped  ${check} (${skipped})`
  return cause === undefined ? `ok       ${check}` : `problem  ${check}: ${cause}\n         ${fix}`
}

async function checkStorage(storage: { ready(): Promise<void> }): Promise<Check> {
  const check = 'storage and lock'
  try {
    await storage.ready()
    return { check }
  } catch (error) {
    if (!isAgentAuthError(error)) throw error
    return { check, cause: error.message, fix: whereStorage(process.env) }
  }
}

async function openSettings(
  storage: TokenStorage,
  name: string,
  flags: CommandLine['flags'],
): Promise<Profile | Check> {
  try {
    return profileOf(storage, name, await chooseSettings(storage, name, flags))
  } catch (error) {
    if (!isAgentAuthError(error)) throw error
    return { check: 'settings', cause: error.message, fix: 'Pass the right --auth-url, --base-url and --client-id.' }
  }
}
