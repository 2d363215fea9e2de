import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildCommand } from '../scripts/built-command.ts'
import { saveSettings } from '../src/command/profile.ts'
import { createAuthConfig, createSession } from '../src/index.ts'
import { fileStorage } from '../src/node/index.ts'
import { type Figure, median, type Size } from './figures.ts'

const rounds = { whole: 31, short: 1 }
const target = 1.5

/** `agent-auth token` with a valid session, called by its file, by turns with a bare `node -e 0`, by the clock. */
export async function token(size: Size): Promise<Figure[]> {
  const home = mkdtempSync(join(tmpdir(), 'agent-auth-bench-'))
  const command = await buildCommand()
  try {
    await saveSession(join(home, 'sessions.json'))
    const env = { ...process.env, AGENT_AUTH_HOME: home }
    const bare: number[] = []
    const whole: number[] = []
    for (let round = 0; round < rounds[size]; round++) {
      bare.push(wallMs(['-e', '0'], env))
      whole.push(wallMs([command.file, 'token'], env))
    }
    const peers = { 'node -e 0': median(bare) }
    const held = { peers, target: { most: target, of: 'node -e 0' } }
    return [{ name: 'agent-auth token, valid session', value: median(whole), unit: 'ms', ...held }]
  } finally {
    await command.remove()
    rmSync(home, { recursive: true })
  }
}

/** Saves what a login leaves: the settings of the profile, and a session whose token is valid for an hour. */
async function saveSession(file: string): Promise<void> {
  const storage = fileStorage(file)
  const settings = {
    authUrl: 'https://auth.example.com',
    baseUrl: 'https://api.example.com',
    clientId: 'app',
    redirectUri: 'http://127.0.0.1/callback',
    scope: 'api.access',
  }
  const nowMs = Date.now()
  await createSession(createAuthConfig(settings), { storage }).signIn({
    accessToken: 'an-access-token',
    refreshToken: 'a-refresh-token',
    obtainedAtMs: nowMs,
    expiresAtMs: nowMs + 3_600_000,
  })
  await saveSettings(storage, 'default', settings)
}

function wallMs(args: readonly string[], env: NodeJS.ProcessEnv): number {
  const startMs = performance.now()
  const { status, stderr } = spawnSync(process.execPath, args, { env, encoding: 'utf8' })
  if (status !== 0) throw new Error(`a start failed: ${stderr}`)
  return performance.now() - startMs
}
