import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { serverUrl } from '../../../test/support/servers-client.ts'
import type { Person } from '../../src/index.ts'
import { agentSearch, authorizeUrl, Browser, callApi, login, personOf, signInPath } from '../support/login.ts'
import { type ServiceProcess, startedService, startProcess } from '../support/processes.ts'
import { createService } from '../support/start.ts'

// The data file is made with the quick scheme: only what the flood asks for is hashed slowly, half a second of the processor each.
let folder: string
let data: { dataFile: string }
let person: Person
let service: ServiceProcess
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agent-service-flood-'))
  data = { dataFile: join(folder, 'data.db') }
  const first = await createService({ ...data, passwordScheme: 'keyed' })
  person = personOf(first, 'ada@demo.example')
  await first.close()
})
afterAll(() => rm(folder, { recursive: true }))
beforeEach(async () => {
  service = await startProcess(await serverUrl('command'), { data, passwordScheme: 'scrypt' })
})
afterEach(() => service.kill())

interface Answered {
  status: number
  retryAfter: string | undefined
}

/** Sign-ins for accounts that do not exist, all at once, each on a connection of its own. */
async function flood(count: number): Promise<Promise<Answered>[]> {
  const page = await new Browser(service.fetch).get(authorizeUrl(service).url)
  const cookie = page.response.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ')
  const agent = new Agent({ maxSockets: count })
  const headers = { cookie, 'content-type': 'application/x-www-form-urlencoded' }
  const options = { method: 'POST', headers, agent }
  return Array.from({ length: count }, (_, index) => {
    const fields = { ...page.hidden(signInPath), email: `nobody-${index}@demo.example`, password: 'wrong-password' }
    return new Promise<Answered>((resolve, reject) => {
      const post = request(service.authUrl + signInPath, options, (answer) => {
        answer.resume()
        resolve({ status: answer.statusCode ?? 0, retryAfter: answer.headers['retry-after'] })
      })
      post.on('error', reject)
      post.end(new URLSearchParams(fields).toString())
    })
  })
}

test('200 sign-ins without an account hold up no API call, and most are told to come again', async () => {
  const { access_token: token } = await login(service, { person })
  const answers: Answered[] = []
  // Those that still wait at the end are not waited for: each would be hashed.
  for (const post of await flood(200)) post.then((answer) => void answers.push(answer)).catch(() => {})
  await expect.poll(() => answers.length).toBeGreaterThan(0)
  const hashed = (): number => answers.filter(({ status }) => status === 403).length
  const hashedBeside: number[] = []
  for (let count = 0; count < 50; count += 1) {
    const before = hashed()
    expect((await callApi(service, { token, path: agentSearch, body: {} })).status).toBe(200)
    hashedBeside.push(hashed() - before)
  }
  // Behind the line a call would wait for all 34 of it, however slow the machine is.
  expect(Math.max(...hashedBeside)).toBeLessThan(17)
  const busy = (): Answered[] => answers.filter(({ status }) => status === 503)
  // 34 fit into the line, and while all of them arrive some of those are through.
  await expect.poll(() => busy().length).toBeGreaterThan(100)
  await expect.poll(() => answers.length - busy().length).toBeGreaterThan(0)
  expect(new Set(busy().map(({ retryAfter }) => retryAfter))).toEqual(new Set(['5']))
  // On a busy machine a client of the test may send its request later than the service waits for it, which is 408.
  const statuses = answers.map(({ status }) => status)
  expect(new Set(statuses.filter((status) => status !== 408))).toEqual(new Set([403, 503]))
  expect(statuses.filter((status) => status === 408).length).toBeLessThan(50)
})

test('SIGTERM ends a process with a line of sign-ins without hashing those that wait, at its deadline at the latest', async () => {
  const posts = await flood(120)
  await Promise.any(posts)
  const ended = Promise.allSettled(posts)
  const { code, tookMs } = await service.stop()
  // On a busy machine the hashes that run may take longer than the 9.5 s after which the process ends itself with 1.
  expect([0, 1]).toContain(code)
  if (code === 1) expect(tookMs).toBeGreaterThanOrEqual(9_000)
  expect(tookMs).toBeLessThan(60_000)
  const statuses = (await ended).map((post) => (post.status === 'fulfilled' ? post.value.status : 0))
  // What waited was not hashed first.
  expect(statuses.filter((status) => status === 403).length).toBeLessThan(20)
})

test('what keeps the process alive is ended at the deadline, and the exit code says so', async () => {
  const held = 'data:text/javascript,setInterval(()=>{},1000)'
  const args = ['--import', held, await serverUrl('command'), '--json', '--auth-port', '0', '--base-port', '0']
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let stderr = ''
  child.stderr.on('data', (bytes) => {
    stderr += bytes
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  await startedService(child)
  const exit = once(child, 'exit')
  child.kill('SIGTERM')
  const [code] = (await Promise.race([exit, wait(60_000, ['still there'])])) as [unknown]
  child.kill('SIGKILL')
  expect({ code, stderr }).toEqual({ code: 1, stderr: 'agent-service: did not stop in time and was ended\n' })
})
