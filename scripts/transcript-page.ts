import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Service } from '../service/src/index.ts'
import { buildCommand } from './built-command.ts'

/** What a user types, with the names that stand for what differs from run to run. */
const lines = [
  ['login', '--auth-url', 'AUTH_URL', '--base-url', 'BASE_URL', '--client-id', 'CLIENT_ID'],
  ['status'],
  ['fetch', 'POST', '/api/llm_models/search', '{"limit":1,"offset":0}'],
  ['doctor'],
  ['logout'],
]

const [begin, end] = ['<!-- written by npm run transcript -->\n', '<!-- end of the transcript -->\n']

/** Returns a page whose transcript is this one. Throws if the page has no place for it. */
export function withTranscript(page: string, transcript: string): string {
  const [before, rest] = page.split(begin)
  const after = rest?.split(end)[1]
  if (before === undefined || after === undefined) throw new Error('the page has no markers for the transcript')
  return `${before}${begin}\`\`\`console\n${transcript}\`\`\`\n${end}${after}`
}

/** Runs the command against agent-service, and returns what a terminal shows. Rejects if a command fails. */
export async function recordTranscript(): Promise<string> {
  const { startService } = await import('agent-service')
  const folder = mkdtempSync(join(tmpdir(), 'agent-auth-transcript-'))
  const [command, service] = await Promise.all([buildCommand(), startService({ dev: 'on', authPort: 0, basePort: 0 })])
  try {
    service.dev.autoApprove(service.people.find(({ tenant }) => tenant === 'demo')?.email)
    const values = valuesOf(service)
    const env = { AGENT_AUTH_HOME: join(folder, 'home'), PATH: browserIn(folder) }
    let transcript = ''
    for (const words of lines) {
      const args = words.map((word) => values.get(word) ?? word)
      transcript += `$ npx agent-auth ${words.map(quoted).join(' ')}\n${await run([command.file, ...args], env)}`
    }
    return withNames(transcript, values)
  } finally {
    await Promise.all([service.close(), command.remove()])
    rmSync(folder, { recursive: true, force: true })
  }
}

function valuesOf({ authUrl, baseUrl, clients }: Service): ReadonlyMap<string, string> {
  const clientId = clients.find(({ name }) => name === 'Demo public')?.clientId ?? ''
  return new Map([
    ['AUTH_URL', authUrl],
    ['BASE_URL', baseUrl],
    ['CLIENT_ID', clientId],
  ])
}

/** Writes a browser without windows, which follows every redirect. Returns the PATH that it is on. */
function browserIn(folder: string): string {
  const source = `#!${process.execPath}\nfetch(process.argv[2]).then((page) => page.text())\n`
  writeFileSync(join(folder, process.platform === 'darwin' ? 'open' : 'xdg-open'), source, { mode: 0o755 })
  return folder
}

async function run(args: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const [out, problem, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  if (code !== 0) throw new Error(`agent-auth ${args[1]} ended with exit code ${code}: ${problem}`)
  return out
}

function quoted(word: string): string {
  return /^[\w/:.-]+$/.test(word) ? word : `'${word}'`
}

/** Puts names in the place of what differs from run to run. */
function withNames(transcript: string, values: ReadonlyMap<string, string>): string {
  let named = transcript
  for (const [name, value] of values) named = named.replaceAll(value, name)
  return named.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME').replace(/[ \t]+$/gm, '')
}
