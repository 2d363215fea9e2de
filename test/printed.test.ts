import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, onTestFinished, test, vi } from 'vitest'
import { printed } from './support/printed.ts'

function shell(script: string): ChildProcess {
  const child = spawn('sh', ['-c', script], { detached: true })
  // With the processes that it has started.
  onTestFinished(() => {
    try {
      process.kill(-(child.pid ?? 0), 'SIGKILL')
    } catch {
      // All have ended.
    }
  })
  return child
}

test('the first group of what a process prints is returned, also if it comes in pieces or on the other stream', async () => {
  expect(await printed(shell('printf "rea" >&2; sleep 0.1; printf "dy 7\\n" >&2; sleep 60'), /ready (\d)\n/)).toBe('7')
})

test('a process that ends before is an error with its output and its exit code', async () => {
  await expect(printed(shell('echo no; exit 3'), /ready/)).rejects.toThrow('sh ended with 3. It printed:\nno\n')
})

test('a process that had ended before is an error', async () => {
  const child = shell('exit 3')
  await once(child, 'close')
  await expect(printed(child, /ready/)).rejects.toThrow('sh ended with 3')
})

test('a process that ended is an error also while another process keeps its output open', async () => {
  await expect(printed(shell('sleep 60 & echo no; exit 3'), /ready/)).rejects.toThrow('sh ended with 3')
})

test('a process that does not get ready within two minutes is an error, and is killed', async () => {
  const child = shell('echo no; sleep 60')
  await once(child.stdout ?? child, 'data')
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const failed = expect(printed(child, /ready/)).rejects.toThrow('sh did not get ready')
  vi.advanceTimersByTime(120_000)
  await failed
  if (child.signalCode === null) await once(child, 'exit')
  expect(child.signalCode).toBe('SIGKILL')
})
