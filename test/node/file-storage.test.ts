import { execFileSync } from 'node:child_process'
import fs, {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { dirname } from 'node:path'
import { fileStorage } from 'agent-auth/node'
import { describe, expect, onTestFinished, test } from 'vitest'
import { replaceFile } from '../../src/node/replace-file.ts'
import { storageSuite } from '../storage/storage-suite.ts'
import { freshFile } from '../support/fresh-file.ts'
import { sessionRig } from '../support/session-rig.ts'

storageSuite('fileStorage', () => {
  const ends: (() => void | Promise<void>)[] = []
  const path = freshFile((end) => ends.push(end))
  return {
    handle: () => fileStorage(path),
    async close() {
      for (const end of ends) await end()
    },
  }
})

const failed = { code: 'storage_failed', retryable: false }
const modeOf = (path: string): number => statSync(path).mode & 0o777

function writeLeases(path: string, leases: object): void {
  writeFileSync(`${path}.leases`, JSON.stringify(leases), { mode: 0o600 })
}

/** The warnings of this process, which Node prints on stderr. */
function warningsOfProcess(): unknown[] {
  const warnings: unknown[] = []
  const note = (warning: unknown): unknown => warnings.push(warning)
  process.on('warning', note)
  onTestFinished(() => void process.off('warning', note))
  return warnings
}

function fileModeWarning(what: string) {
  const message = expect.stringMatching(new RegExp(`^${what} of the storage was open to its group`))
  return expect.objectContaining({ name: 'AgentAuthWarning', code: 'AGENT_AUTH_FILE_MODE', message })
}

/** Makes a function of the file system fail as on a volume whose modes are fixed. */
function denied(name: 'chmodSync' | 'fchmodSync'): void {
  const before = fs[name]
  fs[name] = () => {
    throw Object.assign(new Error('EPERM'), { code: 'EPERM' })
  }
  syncBuiltinESMExports()
  onTestFinished(() => {
    fs[name] = before as never
    syncBuiltinESMExports()
  })
}

/** A path, and a file there that holds a record. */
async function written() {
  const path = freshFile(onTestFinished)
  const storage = fileStorage(path)
  await storage.setItem('key', 'value')
  return { path, storage }
}

describe('the file', () => {
  test('is readable by its owner alone, as is the folder, with any umask', async () => {
    const before = process.umask(0)
    try {
      const { path, storage } = await written()
      expect({ file: modeOf(path), folder: modeOf(dirname(path)) }).toEqual({ file: 0o600, folder: 0o700 })
      await storage.setItem('key', 'again')
      expect(modeOf(path)).toBe(0o600)
      expect(readdirSync(dirname(path))).toEqual(['sessions.json'])
    } finally {
      process.umask(before)
    }
  })

  test('is found when the process changes its folder', async () => {
    const path = freshFile(onTestFinished)
    mkdirSync(dirname(path), { mode: 0o700 })
    const before = process.cwd()
    process.chdir(dirname(path))
    try {
      const storage = fileStorage('here.json')
      process.chdir(before)
      await storage.setItem('key', 'value')
      expect(readdirSync(dirname(path))).toEqual(['here.json'])
    } finally {
      process.chdir(before)
    }
  })

  test.each(['', '~/x.json', 'a\0b', undefined, 7])('cannot be at %j', (path) => {
    const error = { code: 'config_invalid', message: expect.stringContaining('path must ') }
    expect(() => fileStorage(path as string)).toThrow(expect.objectContaining(error))
  })

  test('is refused, and not repaired, when all users could read it', async () => {
    const { path, storage } = await written()
    const text = readFileSync(path, 'utf8')
    for (const mode of [0o644, 0o604, 0o602]) {
      chmodSync(path, mode)
      await expect(storage.getItem('key')).rejects.toMatchObject({
        ...failed,
        message: expect.stringContaining('chmod 600'),
      })
      await expect(storage.setItem('key', 'new')).rejects.toMatchObject(failed)
    }
    expect(readFileSync(path, 'utf8')).toBe(text)
    chmodSync(path, 0o600)
    expect(await storage.getItem('key')).toBe('value')
  })

  test.each([0o660, 0o640, 0o620])('of mode %o is closed to its group, with a warning, and used', async (mode) => {
    const { path, storage } = await written()
    const warnings = warningsOfProcess()
    chmodSync(path, mode)
    expect(await storage.getItem('key')).toBe('value')
    expect(modeOf(path)).toBe(0o600)
    await expect.poll(() => warnings).toEqual([fileModeWarning('The file sessions.json')])
  })

  test('in a folder of 0775, as Ubuntu makes them, is used, and the folder is closed to its group, with a warning', async () => {
    const path = freshFile(onTestFinished)
    mkdirSync(dirname(path))
    chmodSync(dirname(path), 0o775)
    const warnings = warningsOfProcess()
    const storage = fileStorage(path)
    await storage.setItem('key', 'value')
    expect(await storage.getItem('key')).toBe('value')
    expect(modeOf(dirname(path))).toBe(0o755)
    await expect.poll(() => warnings).toEqual([fileModeWarning('The folder private')])
  })

  test.each([
    ['folder', 'The folder private', 'chmodSync'],
    ['file', 'The file sessions.json', 'fchmodSync'],
  ] as const)(
    'a %s whose mode the file system does not change is refused, and names trustGroup',
    async (_, what, call) => {
      const { path, storage } = await written()
      chmodSync(call === 'chmodSync' ? dirname(path) : path, 0o770)
      denied(call)
      const message = expect.stringMatching(new RegExp(`^${what} .*trustGroup`))
      await expect(storage.getItem('key')).rejects.toMatchObject({ ...failed, message })
    },
  )

  test('on a volume of a platform is used by the group that trustGroup accepts, and stays open to it', async () => {
    const path = freshFile(onTestFinished)
    mkdirSync(dirname(path))
    chmodSync(dirname(path), 0o2770)
    const warnings = warningsOfProcess()
    const storage = fileStorage(path, { trustGroup: true })
    const before = process.umask(0o002)
    onTestFinished(() => void process.umask(before))
    await storage.setItem('key', 'value')
    // As after a restart: the platform gives all files to the group, and the user may be another.
    chmodSync(path, 0o660)
    if (process.getuid?.() === 0) for (const each of [path, dirname(path)]) chownSync(each, 12_345, 12_345)
    expect(await storage.getItem('key')).toBe('value')
    await storage.withLock('key', async () => storage.setItem('key', 'new'))
    expect({ file: modeOf(path), folder: statSync(dirname(path)).mode & 0o7777, warnings }).toEqual({
      file: 0o660,
      folder: 0o2770,
      warnings: [],
    })
    chmodSync(path, 0o664)
    await expect(storage.getItem('key')).rejects.toMatchObject({
      ...failed,
      message: expect.stringContaining('chmod 600'),
    })
  })

  test('is named in the message, as is the file of leases beside it', async () => {
    const { path, storage } = await written()
    const lock = { owner: 'one', renewals: 0 }
    const locked = (): Promise<unknown> => storage.withLock('name', async () => {})
    const naming = (name: string) => ({
      code: 'storage_failed',
      message: expect.stringContaining(`The file ${name} of`),
    })
    writeLeases(path, { name: lock })
    chmodSync(`${path}.leases`, 0o644)
    await expect(locked()).rejects.toMatchObject(naming('sessions.json.leases'))
    unlinkSync(`${path}.leases`)
    mkdirSync(`${path}.leases`)
    await expect(locked()).rejects.toMatchObject(naming('sessions.json.leases'))
    expect(await storage.getItem('key')).toBe('value')
    chmodSync(path, 0o644)
    await expect(storage.getItem('key')).rejects.toMatchObject(naming('sessions.json'))
  })

  test('is refused as a symbolic link, and its target is left alone', async () => {
    const { path } = await written()
    const text = readFileSync(path, 'utf8')
    const link = `${path}.link`
    symlinkSync(path, link)
    const storage = fileStorage(link)
    await expect(storage.getItem('key')).rejects.toMatchObject(failed)
    await expect(storage.setItem('key', 'new')).rejects.toMatchObject(failed)
    expect(readFileSync(path, 'utf8')).toBe(text)
  })

  test('never follows a symbolic link that was planted as its lock file', async () => {
    const { path, storage } = await written()
    const victim = `${path}.victim`
    writeFileSync(victim, 'untouched')
    symlinkSync(victim, `${path}.lock`)
    // The link is taken for the lock file of a process that was killed.
    await expect.poll(() => storage.setItem('key', 'new').then(() => 'written', String)).toBe('written')
    expect(readFileSync(victim, 'utf8')).toBe('untouched')
    expect(await storage.getItem('key')).toBe('new')
  })

  test('is refused when it belongs to another user', async () => {
    const { path } = await written()
    const isRoot = process.getuid?.() === 0
    if (isRoot) chownSync(path, 12_345, 12_345)
    // Only root can give a file away, and every other user finds one that belongs to root.
    await expect(fileStorage(isRoot ? path : '/etc/passwd').getItem('key')).rejects.toMatchObject({
      ...failed,
      message: expect.stringContaining('another user'),
    })
  })

  test('is refused in a folder that other users can change', async () => {
    const { path, storage } = await written()
    for (const mode of [0o777, 0o707]) {
      chmodSync(dirname(path), mode)
      await expect(storage.getItem('key')).rejects.toMatchObject(failed)
      await expect(storage.setItem('key', 'new')).rejects.toMatchObject({
        ...failed,
        message: expect.stringContaining('chmod 700'),
      })
    }
    // As a home folder may be, and as /tmp is: what others put there they own, and they cannot remove what this user owns.
    for (const mode of [0o755, 0o1777]) {
      chmodSync(dirname(path), mode)
      await storage.setItem('key', `new ${mode}`)
      expect(await storage.getItem('key')).toBe(`new ${mode}`)
    }
  })

  test('that is a folder, a pipe or below a file is refused without a wait', async () => {
    const { path } = await written()
    const pipe = `${path}.pipe`
    execFileSync('mkfifo', ['-m', '600', pipe])
    for (const odd of [dirname(path), pipe, `${path}/x.json`]) {
      await expect(fileStorage(odd).getItem('key')).rejects.toMatchObject({ code: 'storage_failed' })
      await expect(fileStorage(odd).setItem('key', 'x')).rejects.toMatchObject({ code: 'storage_failed' })
    }
  })

  test('an error names the file, and quotes neither the record nor the folder', async () => {
    const { path, storage } = await written()
    await storage.setItem('key', 'a-secret-token')
    const refused = await fileStorage(`${path}/x.json`).setItem('key', 'a-secret-token').catch(String)
    expect(refused).toMatch(/\(E[A-Z]+\)/)
    expect(refused).toContain('The file x.json.lock of')
    expect(refused).not.toContain('a-secret-token')
    expect(refused).not.toContain(dirname(path))
  })
})

describe('content that this version did not write', () => {
  test('of a newer version is neither read nor replaced', async () => {
    const { path, storage } = await written()
    const newer = '{"v":2,"sessions":[]}'
    writeFileSync(path, newer)
    for (const operation of [
      () => storage.getItem('key'),
      () => storage.setItem('key', 'x'),
      () => storage.removeItem('key'),
      () => storage.withLock('key', async () => storage.setItem('key', 'x')),
    ])
      await expect(operation()).rejects.toMatchObject({ ...failed, message: expect.stringContaining('newer version') })
    expect(readFileSync(path, 'utf8')).toBe(newer)
  })

  test.each(['null', '{"name":"an app"}', Buffer.from([0x30, 0x82, 0xff]), '{'])(
    '%j of another program is neither read nor replaced',
    async (text) => {
      const { path, storage } = await written()
      writeFileSync(path, text)
      const { realm, service } = sessionRig()
      const { session } = realm({ storage })
      await session.ready().catch(() => undefined)
      await session.signIn(service.issue()).catch(() => undefined)
      await expect(storage.getItem('key')).rejects.toMatchObject({
        ...failed,
        message: expect.stringContaining('no file of agent-auth'),
      })
      await expect(storage.setItem('key', 'x')).rejects.toMatchObject(failed)
      await expect(storage.ready()).rejects.toMatchObject(failed)
      expect(readFileSync(path)).toEqual(Buffer.from(text))
    },
  )

  test.each(['', '\0\0\0', '{"v":1,"records":{"key":"val', '{"v":1}'])(
    '%j counts as unreadable, is reported, and is replaced by a sign-in',
    async (text) => {
      const path = freshFile(onTestFinished)
      mkdirSync(dirname(path), { mode: 0o700 })
      writeFileSync(path, text, { mode: 0o600 })
      const { realm, service } = sessionRig()
      const here = realm({ storage: fileStorage(path) })
      expect((await here.session.ready()).status).toBe('signed-out')
      expect(JSON.stringify(here.eventsOf('storage_degraded'))).toContain('unreadable')
      await here.session.signIn(service.issue())
      expect((await realm({ storage: fileStorage(path) }).session.ready()).status).toBe('signed-in')
    },
  )
})

describe('a process that was killed', () => {
  test('while it wrote: the old record stays, and the next write does not wait for ever', async () => {
    const { path, storage } = await written()
    writeFileSync(`${path}.lock`, '{"v":1,"records":{"key":"half wri', { mode: 0o600 })
    expect(await storage.getItem('key')).toBe('value')
    await expect.poll(() => storage.setItem('key', 'new').then(() => 'written', String)).toBe('written')
    expect(await storage.getItem('key')).toBe('new')
    expect(existsSync(`${path}.lock`)).toBe(false)
  })

  test.each(['', '\0\0\0', '{"key":'])('leases that a power failure damaged do not hold: %j', async (text) => {
    const { path, storage } = await written()
    writeFileSync(`${path}.leases`, text, { mode: 0o600 })
    expect(await storage.withLock('key', async () => 'ran')).toBe('ran')
    expect(readdirSync(dirname(path))).toEqual(['sessions.json'])
  })

  test('a step whose lock file was taken over replaces nothing, and runs again', async () => {
    const { path } = await written()
    const lockFile = `${path}.lock`
    let runs = 0
    await replaceFile(lockFile, 'no one', () => {
      runs += 1
      if (runs === 1) {
        unlinkSync(lockFile)
        writeFileSync(lockFile, 'by the next process')
        setTimeout(() => unlinkSync(lockFile), 20)
      }
      return { path, text: `run ${runs}`, lasts: 'always' }
    })
    expect({ runs, text: readFileSync(path, 'utf8') }).toEqual({ runs: 2, text: 'run 2' })
  })

  test('a lock owner writes nothing after its lease was taken over', async () => {
    const { path, storage } = await written()
    const other = fileStorage(path)
    await storage.withLock('key', async () => {
      writeLeases(path, { key: { owner: 'the next owner', renewals: 0 } })
      await expect(storage.setItem('key', 'late')).rejects.toMatchObject({ code: 'storage_failed', retryable: true })
      await expect(storage.removeItem('key')).rejects.toMatchObject({ code: 'storage_failed', retryable: true })
    })
    expect(await other.getItem('key')).toBe('value')
  })
})
