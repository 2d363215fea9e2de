import { execFileSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Figure } from '../figures.ts'
import { median } from '../figures.ts'
import { startServerProcess } from './server-process.ts'
import { targets } from './targets.ts'

const command = fileURLToPath(new URL('../../service/dist/cli.js', import.meta.url))
const rounds = 3

/** Starts on a seed of many agents, and starts on its export, whose own export has to be the same. */
export async function seed({ agents }: { agents: number }): Promise<Figure[]> {
  const folder = await mkdtemp(join(tmpdir(), 'agent-service-bench-seed-'))
  try {
    const file = join(folder, 'seed.json')
    await writeFile(file, JSON.stringify(seedWith(agents)))
    const times: number[] = []
    for (let round = 0; round < rounds; round += 1) times.push(await load(file, join(folder, `${round}.db`)))
    const exported = exportOf(join(folder, '0.db'))
    const again = join(folder, 'again.json')
    await writeFile(again, exported)
    await load(again, join(folder, 'again.db'))
    const differs = exported.equals(exportOf(join(folder, 'again.db'))) ? 0 : 1
    const name = `a seed of ${agents.toLocaleString('en-US')} agents`
    return [
      { name: `start with ${name}`, value: median(times), unit: 'ms of CPU', target: { most: targets.seedMs } },
      { name: `${name}: exports that differ`, value: differs, unit: 'of 1', target: { most: 0 } },
    ]
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Returns the processor time until the service listens. */
async function load(file: string, data: string): Promise<number> {
  const args = [command, '--json', '--auth-port', '0', '--base-port', '0', '--data', data, '--seed', file]
  const server = await startServerProcess(args)
  const ms = await server.cpuMs()
  await server.stop()
  return ms
}

function exportOf(data: string): Buffer {
  return execFileSync(process.execPath, [command, 'export', '--data', data], { maxBuffer: 2 ** 28 })
}

function seedWith(agents: number): object {
  const tenant = 'acme'
  return {
    tenants: [{ id: tenant }],
    models: [{ tenant, model_name: 'Aurora', model_version: '1', provider: 'northlight' }],
    agents: Array.from({ length: agents }, (_, index) => ({
      tenant,
      agent_name: `Agent ${index}`,
      description: `Reads what number ${index} says and answers.`,
      parent_agent_type: 'Assistant',
    })),
  }
}
