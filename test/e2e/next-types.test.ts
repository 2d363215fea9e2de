import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { bundled, forgetParsed, problemsIn } from '../support/foreign-project.ts'

const adapter = fileURLToPath(new URL('../../examples/node-backend/adapters/next', import.meta.url))

afterAll(forgetParsed)

test('the adapter for Next.js alone compiles with the options of a new Next.js app', () => {
  // Next resolves its own types from here as well.
  mkdirSync(join(adapter, 'dist'), { recursive: true })
  const project = mkdtempSync(join(adapter, 'dist/foreign-'))
  try {
    for (const name of ['app', 'backend.ts']) cpSync(join(adapter, name), join(project, name), { recursive: true })
    expect(problemsIn(project, bundled)).toEqual([])
  } finally {
    rmSync(project, { recursive: true, force: true })
  }
})
