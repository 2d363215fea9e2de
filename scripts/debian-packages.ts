import { spawnSync } from 'node:child_process'

/** Installs Debian packages with apt-get, or throws why that cannot be; what apt-get says goes to standard error. */
export function installPackages(packages: readonly string[]): void {
  if (process.getuid?.() !== 0) throw new Error(`only root may install it: apt-get install ${packages.join(' ')}`)
  process.stderr.write(`installing ${packages.join(' and ')} with apt-get\n`)
  for (const args of [['update'], ['install', '--yes', '--no-install-recommends', ...packages]]) {
    const { status, error } = spawnSync('apt-get', args, {
      stdio: ['ignore', process.stderr.fd, 'inherit'],
      // The second keeps a package from starting a server of its own: runlevel(8) reports what it says.
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
    })
    if (error !== undefined) throw new Error('there is no apt-get here: install it and put it on PATH')
    if (status !== 0) throw new Error(`apt-get ${args[0]} failed with exit code ${status}`)
  }
}
