import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { exitCodes, runCommand } from '../../scripts/flags.ts'
import { type Consumer, consumers } from './consumers.ts'
import { pack } from './pack.ts'
import { installed } from './project.ts'
import { withService } from './service.ts'

const help = `Usage: npm run test:consumers [-- --only NAME …] [-- --fast] [-- --as-built]

Packs agent-auth and agent-service, installs the two tarballs in a project of each kind that users have, and uses them there:
versions of Node, TypeScript, bundlers, frameworks, other runtimes and test runners. The packages of these projects come from
the npm registry.

  --only NAME  only this project: ${consumers.map(({ name }) => name).join(', ')}; may be given more than once
  --fast       the projects that are a step of the gate: ${consumers
    .filter(({ lane }) => lane === 'gate')
    .map(({ name }) => name)
    .join(', ')}
  --as-built   packs dist/ as it is, without a build before
  -h, --help   this text

Exit codes: 0 the packages work in every project, 1 they do not in one, 2 the arguments are wrong.
`

const options = {
  only: { type: 'string', multiple: true },
  fast: { type: 'boolean' },
  'as-built': { type: 'boolean' },
} as const

await runCommand({ name: 'test:consumers', help, options }, async ({ only, fast, 'as-built': isBuilt }) => {
  const unknown = only?.find((name) => !consumers.some((known) => known.name === name))
  if (unknown !== undefined) {
    process.stderr.write(`test:consumers: there is no project ${unknown}. Try npm run test:consumers -- --help\n`)
    return exitCodes.usage
  }
  const asked = consumers.filter(({ name, lane }) => only?.includes(name) ?? (lane === 'gate' || !fast))
  const folder = await mkdtemp(join(tmpdir(), 'agent-auth-consumers-'))
  try {
    return (await runAll(asked, folder, isBuilt ? 'as-built' : 'build')) ? exitCodes.ok : exitCodes.failed
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})

async function runAll(asked: readonly Consumer[], folder: string, dist: 'as-built' | 'build'): Promise<boolean> {
  process.stdout.write('packing agent-auth and agent-service\n')
  const tarballs = await pack(folder, dist)
  const failed: string[] = []
  await withService(async (service) => {
    for (const consumer of asked) {
      const startMs = performance.now()
      const outcome = await outcomeOf(consumer)
      const seconds = Math.round((performance.now() - startMs) / 1_000)
      process.stdout.write(
        `${outcome === undefined ? 'ok    ' : 'FAILED'} ${consumer.name}: ${consumer.says} (${seconds} s)\n`,
      )
      if (outcome === undefined) continue
      failed.push(consumer.name)
      process.stdout.write(`${outcome}\n`)
    }

    async function outcomeOf({ name, project, packages, check }: Consumer): Promise<string | undefined> {
      try {
        const place = join(folder, name)
        await mkdir(place)
        await check(await installed({ project: project ?? name, place, packages, tarballs }), service)
        return undefined
      } catch (error) {
        return error instanceof Error ? error.message : String(error)
      }
    }
  })
  process.stdout.write(`${asked.length - failed.length} passed, ${failed.length} failed\n`)
  return failed.length === 0
}
