import { chromiumNames, headlessShellName } from './chromium.ts'
import { findOnPath } from './on-path.ts'

/** A program that tests need and `npm ci` does not bring. */
export interface Program {
  readonly title: string
  /** The tag of the tests that need it; a program without one only makes tests quicker. */
  readonly tag?: 'chromium' | 'redis' | 'keychain'
  /** Any of these on PATH will do. */
  readonly names: readonly string[]
  readonly debianPackage: string
  /** What its absence means where CI is set. Default: a failure. */
  readonly absentInCi?: 'skip'
}

export const programs: readonly Program[] = [
  { title: 'Chromium', tag: 'chromium', names: chromiumNames, debianPackage: 'chromium' },
  { title: "Debian's headless shell", names: [headlessShellName], debianPackage: headlessShellName },
  { title: 'Redis', tag: 'redis', names: ['redis-server'], debianPackage: 'redis-server' },
  {
    title: 'A keychain',
    tag: 'keychain',
    names: ['gnome-keyring-daemon'],
    debianPackage: 'gnome-keyring',
    absentInCi: 'skip',
  },
]

export function isMissing({ names }: Program): boolean {
  return findOnPath(names) === undefined
}

/** Returns whether its absence skips its tests. Otherwise they fail. */
export function skipsTests({ absentInCi }: Program): boolean {
  return !process.env.CI || absentInCi === 'skip'
}

export function isThere(tag: Program['tag']): boolean {
  return programs.every((program) => program.tag !== tag || !isMissing(program))
}

/** Says what is missing and how to get it. */
export function adviceFor({ title, names, debianPackage }: Program): string {
  return `${title} is missing. Run npm test as root on Debian or Ubuntu (apt-get install ${debianPackage}), or put ${names.join(' or ')} on PATH.`
}
