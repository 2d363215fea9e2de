import { findOnPath } from '../support/on-path.ts'
import type { Engine } from './engine.ts'
import { firefoxNames, launchFirefox } from './firefox.ts'
import { launchWebkit } from './webkit.ts'

export const engineNames = ['firefox', 'webkit'] as const
export type EngineName = (typeof engineNames)[number]

interface Launcher {
  /** Of each list one must be on PATH. */
  readonly programs: readonly (readonly string[])[]
  /** Debian's packages that bring them. */
  readonly packages: readonly string[]
  launch(): Promise<Engine>
}

export const engines: Record<EngineName, Launcher> = {
  firefox: { programs: [firefoxNames], packages: ['firefox-esr'], launch: launchFirefox },
  webkit: {
    programs: [['WebKitWebDriver'], ['Xvfb']],
    packages: ['webkit2gtk-driver', 'xvfb'],
    launch: launchWebkit,
  },
}

/** The programs of an engine that are not on PATH. */
export function missingPrograms(name: EngineName): string[] {
  return engines[name].programs.filter((names) => findOnPath(names) === undefined).map((names) => names.join(' or '))
}
