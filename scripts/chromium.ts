import { findChromium } from '../test/support/chromium.ts'
import { installPackages } from './debian-packages.ts'
import { exitCodes, runCommand } from './flags.ts'

const help = `Usage: npm run chromium [-- --check]

Prints the path of the Chromium that the browser tests and the screenshots use: the first of chromium, chromium-browser,
google-chrome and google-chrome-stable on PATH. If there is none, it installs the package chromium with apt-get, as root
on Debian only.

  --check     install nothing
  -h, --help  this text

Exit codes: 0 there is one, 1 there is none and it could not be installed, 2 the arguments are wrong.
`

await runCommand({ name: 'chromium', help, options: { check: { type: 'boolean' } } }, ({ check }) => {
  if (findChromium() === undefined && !check) installPackages(['chromium'])
  const found = findChromium()
  if (found === undefined) throw new Error('there is no Chromium on PATH')
  process.stdout.write(`${found}\n`)
  return exitCodes.ok
})
