import { installPackages } from '../../scripts/install.ts'

/** Installs, before any test file starts, the packages of the apps that have a lock file of their own. Several files start the same app. */
export async function setup(): Promise<void> {
  await Promise.all([installPackages('next'), installPackages('frameworks')])
}
