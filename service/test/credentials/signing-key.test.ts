import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { bundleForNode } from '../../../test/support/bundle.ts'

test('a new signing key is made in a finite time at each moment of a garbage collection', async () => {
  const program = fileURLToPath(new URL('../support/many-signing-keys.ts', import.meta.url))
  const { file, remove } = await bundleForNode({ entryPoints: [program], external: [] })
  onTestFinished(remove)
  const args = ['--max-semi-space-size=1', file]
  // Takes half a second. A process that waits for ever hears no other signal.
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 60_000, killSignal: 'SIGKILL' })
  expect(stdout).toBe('made all')
})
