import { spawnSync } from 'node:child_process'
import { type EngineName, engineNames, engines, missingPrograms } from '../test/engines/engines.ts'
import { installPackages } from './debian-packages.ts'
import { exitCodes, runCommand } from './flags.ts'

const help = `Usage: npx tsx scripts/engines.ts [--engine NAME …] [--no-install]

Runs the core specs of the browser entry, from the built package and against agent-service on loopback, in Firefox and in
WebKit: login, reload, expiry, tabs, sign-out, storage, callbacks, popup, tokens in a worker. An engine that is not on PATH is
installed with apt-get, as root on Debian only; one that cannot be had is skipped, with the reason.

  --engine NAME  only this one: ${engineNames.join(', ')}; may be given more than once
  --no-install   skip what is not on PATH
  -h, --help     this text

Exit codes: 0 every spec of every engine that is there passed, 1 one did not, 2 the arguments are wrong.
`

const options = {
  engine: { type: 'string', multiple: true },
  'no-install': { type: 'boolean' },
} as const

await runCommand({ name: 'engines', help, options }, ({ engine, 'no-install': isAsItIs = false }) => {
  const unknown = engine?.find((name) => !engineNames.some((known) => known === name))
  if (unknown !== undefined) {
    process.stderr.write(`engines: there is no engine ${unknown}; there are ${engineNames.join(', ')}\n`)
    return exitCodes.usage
  }
  const asked = engineNames.filter((name) => engine?.includes(name) ?? true)
  const there = asked.filter((name) => isThere(name, isAsItIs))
  return there.length === 0 ? exitCodes.ok : runSpecs(there)
})

function isThere(name: EngineName, isAsItIs: boolean): boolean {
  if (missingPrograms(name).length === 0) return true
  try {
    if (isAsItIs) throw new Error('nothing is to be installed')
    installPackages(engines[name].packages)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    process.stdout.write(`engines: skipped ${name}: no ${missingPrograms(name).join(', no ')} on PATH; ${reason}\n`)
    return false
  }
  return missingPrograms(name).length === 0 || isThere(name, true)
}

function runSpecs(names: readonly EngineName[]): number {
  const projects = names.flatMap((name) => ['--project', name])
  // Node.js 20 has the WebSocket that speaks to Firefox only behind this flag.
  const flag = typeof WebSocket === 'undefined' ? ' --experimental-websocket' : ''
  const { status, error } = spawnSync(
    process.execPath,
    ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/engines/vitest.config.ts', ...projects],
    { stdio: 'inherit', env: { ...process.env, NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''}${flag}` } },
  )
  if (error !== undefined) throw error
  return status === 0 ? exitCodes.ok : exitCodes.failed
}
