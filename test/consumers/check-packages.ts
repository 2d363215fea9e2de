import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Project } from './project.ts'

const mostBytes = 1_100 * 1_024
const lifecycle = ['preinstall', 'install', 'postinstall', 'prepare']

/** Checks what an install of agent-auth alone brings. */
export async function checkPackages({ folder }: Project): Promise<void> {
  const modules = join(folder, 'node_modules')
  const names = (await readdir(modules)).filter((name) => !name.startsWith('.')).sort()
  same('the packages of an install', names, ['agent-auth', 'jose', 'oauth4webapi'])
  const description = JSON.parse(await readFile(join(modules, 'agent-auth/package.json'), 'utf8'))
  const scripts = lifecycle.filter((name) => name in (description.scripts ?? {}))
  same('the install scripts', scripts, [])
  const files = (await Promise.all(names.map((name) => filesOf(join(modules, name))))).flat()
  const sizes = await Promise.all(
    files.filter((file) => !file.endsWith('.map')).map(async (file) => (await stat(file)).size),
  )
  const bytes = sizes.reduce((sum, size) => sum + size, 0)
  process.stdout.write(`installed: ${names.length} packages, ${Math.round(bytes / 1_024)} KiB without source maps\n`)
  if (bytes > mostBytes) throw new Error(`The install takes ${bytes} bytes, and ${mostBytes} are the most.`)
  await checkMaps(join(modules, 'agent-auth/dist'))
}

/** Each JavaScript file has a map that holds the text of every source, so that a debugger shows it. */
async function checkMaps(dist: string): Promise<void> {
  const files = await filesOf(dist)
  const scripts = files.filter((file) => file.endsWith('.js'))
  same(
    'the files without a map',
    scripts.filter((file) => !files.includes(`${file}.map`)),
    [],
  )
  for (const file of scripts) {
    const { sources, sourcesContent = [] } = JSON.parse(await readFile(`${file}.map`, 'utf8'))
    // Node prints the whole line that threw an error.
    const longest = Math.max(...(await readFile(file, 'utf8')).split('\n').map(({ length }) => length))
    if (longest > 5_000) throw new Error(`${file} has a line of ${longest} characters.`)
    if (sourcesContent.length !== sources.length || sourcesContent.includes(null))
      throw new Error(`${file}.map lacks the text of a source.`)
  }
}

async function filesOf(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
}

function same(what: string, found: readonly string[], expected: readonly string[]): void {
  if (found.join() !== expected.join())
    throw new Error(`${what} are ${found.join(', ') || 'none'}, not ${expected.join(', ') || 'none'}.`)
}
