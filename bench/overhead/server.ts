import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Figure, Size } from '../figures.ts'
import { type Call, type Library, textCalls, urlsUnder } from './calls.ts'
import { compare } from './compare.ts'

const target = 1.05
const turnsPerRound = { whole: 40, short: 2 }
/** In a process of its own, so that its processor time is not counted. */
const answering = `require('node:http').createServer((request, response) => {
  request.resume().on('end', () => response.setHeader('content-type', 'application/json').end('{}'))
}).listen(0, '127.0.0.1', function () { console.log(this.address().port) })`

/** Against a server on loopback, each answer read to its end. */
export async function overServer(library: Library, size: Size): Promise<Figure> {
  const server = spawn(process.execPath, ['-e', answering], { stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    const baseUrl = `http://127.0.0.1:${await portOf(server)}`
    const urls = urlsUnder(baseUrl)
    const { hand, bearer } = await textCalls(library, baseUrl, fetch)
    const turns = turnsPerRound[size]
    const round = (call: Call) => async (): Promise<void> => {
      for (let turn = 0; turn < turns; turn++) for (const url of urls) await ((await call(url)) as Response).text()
    }
    const calls = turns * urls.length
    const name = 'server on loopback'
    return await compare({ name, hand: round(hand), bearer: round(bearer), calls, target, size })
  } finally {
    server.kill()
  }
}

async function portOf(server: ChildProcess): Promise<string> {
  const [line] = (await once(server.stdout as NonNullable<typeof server.stdout>, 'data')) as [Buffer]
  return String(line).trim()
}
