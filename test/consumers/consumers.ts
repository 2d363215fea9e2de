import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { checkPackages } from './check-packages.ts'
import type { Project } from './project.ts'
import type { Settings } from './service.ts'

/** A project of the kind that users have, and what has to work in it. */
export interface Consumer {
  readonly name: string
  readonly says: string
  /** The gate runs the quick ones, `npm run test:consumers` all. */
  readonly lane: 'gate' | 'long'
  /** The folder of `projects/`, if it is not the name. */
  readonly project?: string
  /** Packages of this consumer beside those of the folder. */
  readonly packages?: Readonly<Record<string, string>>
  check(project: Project, settings: Settings): Promise<void>
}

/** Node as npm brings it, for this machine. */
const nodeName = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`

export const consumers: readonly Consumer[] = [
  {
    name: 'packages',
    says: 'two run-time dependencies, no install scripts, at most 1,100 KiB without source maps, maps with their sources',
    lane: 'gate',
    project: 'bare',
    check: checkPackages,
  },
  {
    name: 'node',
    says: 'the Node of this machine imports and requires each entry, and logs in',
    lane: 'gate',
    check: async (project, settings) => {
      await project.node('imports.js', settings)
      await project.node(...requireFlags, 'requires.cjs', settings)
    },
  },
  onNode('20', '20.20.0'),
  onNode('22', '22.23.3'),
  onNode('24', '24.21.0'),
  onNode('26', '26.10.0'),
  {
    name: 'context',
    says: 'a bare vm context, which has the platform of the web only, logs in',
    lane: 'gate',
    project: 'node',
    check: async ({ node }, settings) => {
      const flags = ['--no-warnings', '--experimental-vm-modules', '--experimental-import-meta-resolve']
      await node(...flags, 'context.js', settings)
    },
  },
  onTypeScript('5.9.3', 'gate'),
  onTypeScript('5.4.5', 'long'),
  onTypeScript('7.0.2', 'long'),
  onBundler('esbuild', 'gate'),
  onBundler('vite', 'long'),
  onBundler('rollup', 'long'),
  onBundler('webpack', 'long'),
  {
    name: 'next',
    says: 'Next.js builds a route handler with the backend and a client component with the provider',
    lane: 'long',
    check: async ({ bin }) => void (await bin('next', 'build')),
  },
  {
    name: 'workerd',
    says: 'workerd of the oldest and the newest date logs in, refreshes, and runs a backend with its proxy',
    lane: 'long',
    check: async ({ node }, settings) => void (await node('main.js', settings)),
  },
  {
    name: 'bun',
    says: 'Bun logs in',
    lane: 'long',
    project: 'runtimes',
    check: async ({ bin, node }, settings) => {
      await node('node_modules/bun/install.js')
      await bin('bun', 'main.js', settings)
    },
  },
  {
    name: 'deno',
    says: 'Deno logs in',
    lane: 'long',
    project: 'runtimes',
    check: async ({ bin }, settings) => void (await bin('deno', 'run', '--allow-all', 'main.js', settings)),
  },
  {
    name: 'vitest',
    says: 'Vitest with jsdom and with happy-dom has a user signed in to the service',
    lane: 'long',
    check: async ({ bin }) => {
      await bin('vitest', 'run', '--environment', 'jsdom')
      await bin('vitest', 'run', '--environment', 'happy-dom')
    },
  },
  {
    name: 'jest',
    says: 'Jest with ES modules has a user signed in to the service',
    lane: 'long',
    check: async ({ node }) => void (await node('--experimental-vm-modules', 'node_modules/jest/bin/jest.js')),
  },
]

/** Node 20 loads ES modules by require behind this flag; later versions accept it. */
const requireFlags = ['--no-warnings', '--experimental-require-module']

function onNode(major: string, version: string): Consumer {
  return {
    name: `node-${major}`,
    says: `Node ${version} imports and requires each entry, and logs in`,
    lane: 'long',
    project: 'node',
    packages: { [nodeName]: version },
    check: async ({ folder, run }, settings) => {
      const node = join(folder, 'node_modules', nodeName, 'bin/node')
      await run(node, 'imports.js', settings)
      await run(node, ...requireFlags, 'requires.cjs', settings)
    },
  }
}

function onTypeScript(version: string, lane: Consumer['lane']): Consumer {
  return {
    name: `typescript-${version.split('.', 2).join('.')}`,
    says: `TypeScript ${version} checks every entry with bundler, node16 and nodenext, and the types of packages too`,
    lane,
    project: 'typescript',
    packages: { typescript: version },
    check: async ({ bin }) => {
      await bin('tsc', '-p', '.', '--module', 'esnext', '--moduleResolution', 'bundler')
      await bin('tsc', '-p', '.', '--module', 'node16')
      await bin('tsc', '-p', '.', '--module', 'nodenext')
    },
  }
}

/** What must not be in a page. */
const notForPages = /["'`]node:|signInWithLoopback|clientSecretBasic|createBackend\b/

function onBundler(name: string, lane: Consumer['lane']): Consumer {
  return {
    name,
    says: `${name} bundles a page that logs in, without a module for Node, and nothing of an import that is not used`,
    lane,
    project: 'bundlers',
    check: async ({ folder, node }, settings) => {
      await node('build.js', name, 'page.js', 'page.out.mjs')
      await node('run.js', 'page.out.mjs', settings)
      const page = await readFile(join(folder, 'page.out.mjs'), 'utf8')
      const found = notForPages.exec(page)
      if (found) throw new Error(`The page holds ${found[0]}`)
      await node('build.js', name, 'nothing.js', 'nothing.out.mjs')
      const rest = await readFile(join(folder, 'nothing.out.mjs'), 'utf8')
      if (rest.length > 300) throw new Error(`${rest.length} characters are left of imports that are not used: ${rest}`)
    },
  }
}
