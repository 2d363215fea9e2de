import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { createAuthConfig, createSession } from 'agent-auth'
import { connectTo } from './shared-stores.ts'
import type { StormTask } from './storm.ts'

// A process that refreshes what its predecessor left, and then once more. It kills itself at one step of the second refresh.
const [text = '', dieAt = '', aheadMs = ''] = process.argv.slice(2)
const task = JSON.parse(text) as StormTask
let stepsLeft = Number.POSITIVE_INFINITY

/** A step is a call that changes a file, the request or its response. The process dies before it. */
function step(name: string): void {
  stepsLeft -= 1
  if (stepsLeft > 0) return
  fs.writeSync(1, name)
  process.kill(process.pid, 'SIGKILL')
}

const { writeFileSync } = fs
for (const name of ['openSync', 'fsyncSync', 'renameSync', 'unlinkSync'] as const) {
  const call = fs[name] as (...args: unknown[]) => unknown
  const stepped = (...args: unknown[]): unknown => {
    // A file that is opened to be read does not change.
    if (name !== 'openSync' || args[1] === 'wx') step(name)
    return call(...args)
  }
  Object.assign(fs, { [name]: stepped })
}
fs.writeFileSync = (file, data, options) => {
  step('writeFileSync')
  const text = String(data)
  fs.writeSync(Number(file), text.slice(0, text.length / 2))
  step('half of writeFileSync')
  writeFileSync(file, text.slice(text.length / 2), options)
}
// The lease of the predecessor has ended by now.
const { now } = Date
Date.now = () => now() + Number(aheadMs)
syncBuiltinESMExports()

const { storage } = await connectTo(task.kind, task.url, task.prefix)
const config = createAuthConfig({
  ...task.config,
  async fetch(...given) {
    step('request')
    const response = await fetch(...given)
    step('response')
    return response
  },
})
const session = createSession(config, { storage, key: 'person-0' })

async function refresh(): Promise<string> {
  return session.getAccessToken({ forceRefresh: true }).then(
    () => 'refreshed',
    (error: { code?: string }) => error.code ?? String(error),
  )
}

const outcome = await refresh()
await new Promise((resolve) => process.send?.(outcome, resolve))
stepsLeft = Number(dieAt)
await refresh()
process.disconnect?.()
