import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { writtenHistory } from '../../support/written-history.ts'
import { formatHistory } from './history.ts'
import { checkFile } from './main.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))

async function written(text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'agent-auth-history-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'history.jsonl')
  await writeFile(file, text)
  return file
}

const signedIn = { kind: 'signIn', holder: 'a/1', fromMs: 0, toMs: 10, token: 'p1.0', saved: true } as const
const lost = {
  kind: 'getToken',
  holder: 'b/1',
  fromMs: 20,
  toMs: 30.25,
  readMs: 20,
  outcome: 'login_required',
} as const

async function checked(text: string): Promise<{ code: number; printed: string }> {
  let printed = ''
  const code = await checkFile(await written(text), (said) => {
    printed += said
  })
  return { code, printed }
}

test('a history that holds is exit code 0', async () => {
  expect(await checked(formatHistory(writtenHistory([signedIn])))).toEqual({
    code: 0,
    printed:
      '1 calls of 1 sessions, 1 with a sign-in: every promise held\n  sessions lost by faults: 0, allowed 0\n  sessions handled too late: 0, allowed 1',
  })
})

test('a history that does not hold is exit code 1, and its shortest part is printed', async () => {
  const { code, printed } = await checked(formatHistory(writtenHistory([signedIn, lost])))
  expect(code).toBe(1)
  expect(printed.split('\n').map((line) => line.replace(/ +/g, ' '))).toEqual([
    '2 calls of 1 sessions, 1 with a sign-in: NOT every promise held',
    ' stays signed in: 1 violations',
    ' sessions lost by faults: 0, allowed 0',
    ' sessions handled too late: 0, allowed 1',
    'The shortest history (stays signed in, session record): getToken 1 found no session, and nothing had ended signIn 0.',
    ' 0.0 ms issued line=p1 generation=0 how=sign-in person=p access=p1.0 holder=a/1',
    ' 1.0 ms invoked call=0 kind=signIn process=a holder=a/1 session=record token=p1.0',
    ' 11.0 ms completed call=0 outcome=ok saved=true',
    ' 21.0 ms invoked call=1 kind=getToken process=b holder=b/1 session=record',
    ' 31.3 ms completed call=1 outcome=login_required readMs=20',
  ])
})

test('a line that is no event is exit code 2 with its number, and so is a missing file', async () => {
  const [line = ''] = formatHistory(writtenHistory([signedIn])).split('\n')
  const gap = (text: string): Promise<unknown> => checked(`${line}\n${text}\n`)
  expect(await gap('{')).toMatchObject({ code: 2, printed: expect.stringMatching(/^Line 2 is not an event: /) })
  expect(await gap('{"type":"other"}')).toMatchObject({ printed: 'Line 2 is not an event: its type is unknown' })
  expect(await gap('{"type":"completed","call":"1","outcome":"ok","saved":1,"monotonicMs":1}')).toMatchObject({
    printed: 'Line 2 is not an event: it needs wallMs:number, saved:boolean',
  })
  expect(await checkFile(join(tmpdir(), 'no-such-history.jsonl'), () => {})).toBe(2)
})

test('npm run soak -- check FILE runs it', async () => {
  const file = await written(formatHistory(writtenHistory([signedIn, lost])))
  const args = ['--import', 'tsx', `${root}scripts/soak.ts`, 'check', file]
  const ended = await new Promise<{ code: unknown; stdout: string }>((resolve) =>
    execFile(process.execPath, args, { cwd: root }, (error, stdout) => resolve({ code: error?.code, stdout })),
  )
  expect(ended).toMatchObject({ code: 1, stdout: expect.stringContaining('NOT every promise held') })
})

test('the checker imports its own files and Node alone, so that no mistake of the library is in both', async () => {
  const folder = fileURLToPath(new URL('.', import.meta.url))
  const files = (await readdir(folder)).filter((name) => !name.endsWith('.test.ts'))
  const texts = await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8')))
  const imports = texts.flatMap((text) => [...text.matchAll(/\bfrom '([^']+)'|\bimport\('([^']+)'\)/g)])
  const names = imports.map(([, from, loaded]) => from ?? loaded ?? '')
  expect(names.length).toBeGreaterThan(files.length)
  expect(names.filter((name) => !/^\.\/[\w-]+\.ts$|^node:/.test(name))).toEqual([])
})
