import { installPackages } from '../../scripts/install.ts'

/** Installs, before any test file starts, the packages of the apps that have a lock file of their own. Several files start the same app. */
export function setup(): void {
  installPackages('next')
  installPackages('frameworks')
}
