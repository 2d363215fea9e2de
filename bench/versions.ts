import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { findOnPath } from '../test/support/on-path.ts'
import { programs } from '../test/support/programs.ts'

/** Where packages are that benches use, the nearest first. */
const folders = ['./', '../', '../service/', '../test/'].map((path) => fileURLToPath(new URL(path, import.meta.url)))

/** Returns the version of an installed package. */
export function packageVersion(name: string): string {
  const file = folders.map((folder) => `${folder}node_modules/${name}/package.json`).find(existsSync)
  if (file === undefined) throw new Error(`The package ${name} is not installed.`)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}

/** Returns the version that a program of the tests says it has. */
export function programVersion(title: string): string {
  const path = findOnPath(programs.find((program) => program.title === title)?.names ?? [])
  if (path === undefined) throw new Error(`${title} is not on PATH.`)
  const said = execFileSync(path, ['--version'], { encoding: 'utf8' })
  return /\d+(\.\d+)+/.exec(said)?.[0] ?? said.trim()
}
