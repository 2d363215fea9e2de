import { exitCodes, runCommand } from './flags.ts'
import { installOwnPackages, ownPackages, type PackageSet } from './own-packages.ts'

const forChecks: readonly PackageSet[] = ['benches', 'packageChecks', 'tests']
const sets = Object.keys(ownPackages) as PackageSet[]
const others = sets.filter((set) => !forChecks.includes(set)).map((set) => ownPackages[set])

const help = `Usage: npm run packages [-- --all]

Installs the packages of bench/, scripts/package-checks/ and test/, which npm run check needs and npm ci leaves out, unless they are
there. npm run check runs this first. Tests and benches install those that they need.

  --all       also those that other commands install when they need them: ${others.join(', ')}
  -h, --help  this text

Exit codes: 0 the packages are there, 1 they could not be installed, 2 the arguments are wrong.
`

await runCommand({ name: 'packages', help, options: { all: { type: 'boolean' } } }, async ({ all }) => {
  for (const set of all ? sets : forChecks) await installOwnPackages(set)
  return exitCodes.ok
})
