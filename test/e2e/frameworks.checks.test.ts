// @module-tag chromium

import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, test } from 'vitest'
import { findChromium, findHeadlessShell } from '../support/chromium.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const folder = `${root}examples/frameworks/`

describe.concurrent('the tests of examples/frameworks, as the page on tests shows them, pass with', () => {
  const run = (...args: string[]) => {
    const env = { PATH: process.env.PATH, CHROMIUM: findHeadlessShell() ?? findChromium() }
    return promisify(execFile)(process.execPath, args, { cwd: `${folder}vue`, env })
  }

  test.for([
    ['.', 'App.test.ts'],
    ['..', 'models.test.ts'],
  ] as const)('Vitest in %s: %s', async ([where, file], { expect }) => {
    const { stdout } = await run(`${root}node_modules/vitest/vitest.mjs`, 'run', '--dir', where, file)
    expect(stdout).toContain('1 passed')
  })

  test('a Vite server as a fixture of Playwright', async ({ expect, onTestFinished }) => {
    const output = await mkdtemp(join(tmpdir(), 'agent-auth-playwright-'))
    onTestFinished(() => rm(output, { recursive: true }))
    const cli = `${folder}node_modules/@playwright/test/cli.js`
    const { stdout } = await run(cli, 'test', '--reporter', 'line', '--output', output)
    expect(stdout).toContain('1 passed')
  })
})

test.concurrent.each(['.', 'angular', 'solid', 'react-router'])(
  'the TypeScript of examples/frameworks/%s compiles',
  async (name) => {
    await promisify(execFile)('npx', ['tsc', '--noEmit', '-p', folder + name])
  },
)
