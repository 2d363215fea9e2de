import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pack } from '../test/consumers/pack.ts'
import { run } from '../test/consumers/run.ts'
import type { Figure } from './figures.ts'
import { packageVersion } from './versions.ts'

const mebibyte = 2 ** 20
/** Of agent-auth alone. */
const targets = { mebibytes: 900 / 1_024, packages: 3 }

interface Weight {
  /** Without source maps. */
  readonly mebibytes: number
  readonly packages: number
}

/** What npm installs for each packed package in an empty project, beside its peers. It asks the registry. */
export async function install(): Promise<Figure[]> {
  const folder = await mkdtemp(join(tmpdir(), 'agent-auth-bench-'))
  try {
    const { agentAuth, agentService } = await pack(folder, 'build')
    const weigh = (name: string, source: string): Promise<Weight> => weightOf(join(folder, name), source)
    const peer = (name: string): Promise<Weight> => weigh(name, `${name}@${packageVersion(name)}`)
    const client = { 'openid-client': await peer('openid-client') }
    const servers = {
      'oauth2-mock-server': await peer('oauth2-mock-server'),
      'oidc-provider': await peer('oidc-provider'),
    }
    return [
      ...figuresOf('agent-auth', await weigh('ours', agentAuth), client, targets),
      ...figuresOf('agent-service', await weigh('service', agentService), servers),
    ]
  } finally {
    await rm(folder, { recursive: true })
  }
}

function figuresOf(
  name: string,
  weight: Weight,
  peers: Readonly<Record<string, Weight>>,
  most?: Weight,
): readonly Figure[] {
  const figure = (what: string, of: keyof Weight, unit: string): Figure => ({
    name: `install of ${name}, ${what}`,
    value: weight[of],
    unit,
    peers: Object.fromEntries(Object.entries(peers).map(([peer, its]) => [peer, its[of]])),
    ...(most && { target: { most: most[of] } }),
  })
  return [figure('files without source maps', 'mebibytes', 'MiB'), figure('packages', 'packages', 'packages')]
}

async function weightOf(folder: string, source: string): Promise<Weight> {
  process.stderr.write(`installing ${source}\n`)
  await mkdir(folder)
  await writeFile(join(folder, 'package.json'), '{ "private": true }')
  const quiet = ['--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline']
  await run('npm', ['install', ...quiet, source], { cwd: folder })
  const modules = join(folder, 'node_modules')
  const lock = JSON.parse(await readFile(join(modules, '.package-lock.json'), 'utf8')) as { packages: object }
  const entries = await readdir(modules, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile() && entry.name !== '.package-lock.json')
  const counted = files.filter(({ name }) => !name.endsWith('.map'))
  const sizes = await Promise.all(counted.map(async (file) => (await stat(join(file.parentPath, file.name))).size))
  return {
    mebibytes: sizes.reduce((sum, size) => sum + size, 0) / mebibyte,
    packages: Object.keys(lock.packages).length,
  }
}
