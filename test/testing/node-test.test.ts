import { execFile } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** The example as a project of its own has it: one folder with agent-service, one without. */
let withService: string
let withoutService: string

beforeAll(async () => {
  // Below node_modules, where the packages of the service are found.
  const cache = join(root, 'node_modules/.cache/')
  await mkdir(cache, { recursive: true })
  withService = await mkdtemp(join(cache, 'agent-auth-'))
  withoutService = await mkdtemp(join(tmpdir(), 'agent-auth-'))
  const example = { example: join(root, 'docs/snippets/testing/node-test.ts') }
  const service = { 'node_modules/agent-service/index': join(root, 'service/src/index.ts') }
  await bundle(withService, { ...example, ...service })
  await copyFile(join(withService, 'example.mjs'), join(withoutService, 'example.mjs'))
  const manifest = { name: 'agent-service', exports: './index.mjs' }
  await writeFile(join(withService, 'node_modules/agent-service/package.json'), JSON.stringify(manifest))
})

afterAll(async () => {
  await Promise.all([withService, withoutService].map((folder) => rm(folder, { recursive: true, force: true })))
})

async function bundle(outdir: string, entryPoints: Record<string, string>): Promise<void> {
  await build({
    ...{ entryPoints, outdir, bundle: true, format: 'esm', platform: 'node', target: 'node20', logLevel: 'warning' },
    outExtension: { '.js': '.mjs' },
    external: ['libsql', 'pg', 'pino', 'pino-pretty', 'prom-client'],
    banner: { js: "import { createRequire as from } from 'node:module'; const require = from(import.meta.url);" },
  })
}

interface Ended {
  readonly failed: boolean
  readonly output: string
}

function run(folder: string): Promise<Ended> {
  return new Promise((resolve) => {
    const args = ['--test-reporter=tap', join(folder, 'example.mjs')]
    execFile(process.execPath, args, (error, stdout, stderr) =>
      resolve({ failed: error !== null, output: stdout + stderr }),
    )
  })
}

test('the example for node:test passes in a process of its own, which then ends by itself', async () => {
  const { failed, output } = await run(withService)
  expect(output).toMatch(/^# pass 1$/m)
  expect(failed).toBe(false)
})

test('without agent-service the error says what to install', async () => {
  const { failed, output } = await run(withoutService)
  expect(output).toContain('testService needs agent-service. Run npm install --save-dev agent-service.')
  expect(failed).toBe(true)
})
