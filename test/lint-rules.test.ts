import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'

const root = fileURLToPath(new URL('../', import.meta.url))
const start = 'Start the service through start.ts'
const hook = 'Register this hook in a function'
const wait = 'Call `untilTrue` of test/browser/rig.ts'

/** By path: the text of a file, and the beginning of what the rules say of it. */
const files: Record<string, { text: string; says: string[] }> = {
  'service/test/package.test.ts': { text: "import { createService } from 'agent-service'", says: [start] },
  'service/test/index.test.ts': { text: "import { startService } from '../src/index.ts'", says: [start] },
  'service/test/parts.test.ts': { text: "import { assemble } from '../src/server/create-service.ts'", says: [start] },
  'service/test/one.libsql.test.ts': { text: "import { createService } from '../src/index.ts'", says: [start] },
  'service/test/parts.libsql.test.ts': { text: "import { assemble } from '../src/server/create-service.ts'", says: [] },
  'service/test/types.test.ts': { text: "import type { Service } from '../src/index.ts'", says: [] },
  'service/test/start.ts': { text: "import { createService } from '../src/index.ts'", says: [] },
  'service/test/shared.ts': { text: 'beforeEach(() => {})', says: [hook] },
  'test/redis/shared.ts': { text: 'afterAll(() => {})', says: [hook] },
  'test/support/inside.ts': { text: 'export function rig(): void {\n  afterEach(() => {})\n}', says: [] },
  'test/redis/own.test.ts': { text: 'afterAll(() => {})', says: [] },
  'test/browser/page.test.ts': { text: 'await page.waitForFunction(() => true)', says: [wait] },
  'test/browser/typed.test.ts': { text: 'await page.waitForFunction<boolean>(() => true)', says: [wait] },
  'service/test/maybe.test.ts': { text: 'await page?.waitForFunction(() => true)', says: [wait] },
  'test/browser/rig.ts': { text: 'await page.waitForFunction(() => true)', says: [] },
}

test('the rules of this repository find a service started past start.ts, a shared hook and a wait for a promise', () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'agent-auth-lint-')))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const part of ['biome.json', 'scripts/lint']) cpSync(root + part, join(folder, part), { recursive: true })
  for (const [path, { text }] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), `${text}\n`)
  }
  const args = ['lint', '--vcs-enabled=false', '--reporter=github', '.']
  const { stdout } = spawnSync(`${root}node_modules/.bin/biome`, args, { cwd: folder, encoding: 'utf8' })
  const line = /^::error title=(?:plugin|lint\/style\/noRestrictedImports),file=([^,]+).*?::(.*)$/gm
  const said = [...stdout.matchAll(line)].map(([, file = '', message]) => ({ path: relative(folder, file), message }))
  for (const [path, { says }] of Object.entries(files))
    expect({ path, said: said.filter((one) => one.path === path).map(({ message }) => message) }).toEqual({
      path,
      said: says.map((text) => expect.stringContaining(text)),
    })
})
