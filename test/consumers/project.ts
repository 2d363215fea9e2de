import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Tarballs } from './pack.ts'
import { run } from './run.ts'

/** A throwaway project that has the packages installed. */
export interface Project {
  readonly folder: string
  /** Runs a program of `node_modules/.bin` in the project. */
  bin(name: string, ...args: string[]): Promise<string>
  node(...args: string[]): Promise<string>
  run(program: string, ...args: string[]): Promise<string>
}

const projects = fileURLToPath(new URL('projects/', import.meta.url))

export interface ProjectOptions {
  /** The folder of `projects/` that is copied. */
  readonly project: string
  readonly place: string
  /** Versions that replace those of its package.json. */
  readonly packages?: Readonly<Record<string, string>> | undefined
  readonly tarballs: Tarballs
}

/** Copies a project, and installs its packages and the two tarballs. Only packages that are named there run their scripts. */
export async function installed({ project, place, packages = {}, tarballs }: ProjectOptions): Promise<Project> {
  await cp(join(projects, 'common'), place, { recursive: true })
  await cp(join(projects, project), place, { recursive: true })
  const file = join(place, 'package.json')
  const description = JSON.parse(await readFile(file, 'utf8')) as { dependencies?: Record<string, string> }
  const own = description.dependencies ?? {}
  const dependencies: Record<string, string> = { ...own, ...packages, 'agent-auth': `file:${tarballs.agentAuth}` }
  if ('agent-service' in own) dependencies['agent-service'] = `file:${tarballs.agentService}`
  await writeFile(file, JSON.stringify({ ...description, dependencies }, undefined, 2))
  await run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'], { cwd: place })
  const here = async (program: string, ...args: string[]): Promise<string> =>
    (await run(program, args, { cwd: place })).stdout
  return {
    folder: place,
    bin: (name, ...args) => here(join(place, 'node_modules/.bin', name), ...args),
    node: (...args) => here(process.execPath, ...args),
    run: here,
  }
}
