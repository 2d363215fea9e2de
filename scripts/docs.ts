import { watch } from 'node:fs'
import { join } from 'node:path'
import { buildSite, writePages } from './docs/build.ts'
import { brokenLinks } from './docs/check-links.ts'
import { codeProblems } from './docs/code-blocks.ts'
import { root } from './docs/folders.ts'
import { lookAtSite } from './docs/look.ts'
import { sitePages, stagePage } from './docs/stage.ts'
import { showTool } from './docs/tools.ts'
import { exitCodes, runCommand } from './flags.ts'
import { installOwnPackages } from './own-packages.ts'

const help = `Usage: npm run docs [-- --check] [-- --base PATH]
       npm run docs:dev
       npm run docs:preview

Builds the documentation as a site in site/dist, with search, the API reference and llms.txt, and fails if a link or an anchor leads
nowhere or a page loads something from another host. npm run docs:dev serves the pages and shows each change. npm run docs:preview
serves what npm run docs has built. The first run installs the packages of the site in site/node_modules, and --check also those of the
adapter for Next.js, whose code the pages show.

  --check      also compile the code of all pages, and open the site in Chromium, light and dark
  --base PATH  the path of the site on its host, with slashes around it; default /
  -h, --help   this text

Exit codes: 0 done, 1 a page is wrong or the site could not be built, 2 the arguments are wrong.
`

const [mode] = process.argv.slice(2)

if (mode === 'dev') await runCommand({ name: 'docs:dev', help, options: {}, args: process.argv.slice(3) }, develop)
else if (mode === 'preview')
  await runCommand({ name: 'docs:preview', help, options: {}, args: process.argv.slice(3) }, () =>
    showTool('vitepress', ['preview']),
  )
else await runCommand({ name: 'docs', help, options: buildOptions() }, build)

function buildOptions(): { check: { type: 'boolean' }; base: { type: 'string'; default: string } } {
  return { check: { type: 'boolean' }, base: { type: 'string', default: '/' } }
}

async function build({ check, base = '/' }: { check?: boolean; base?: string }): Promise<number> {
  if (!/^\/(\S*\/)?$/.test(base)) {
    process.stderr.write('docs: --base takes a path with slashes around it, such as /agent-auth/\n')
    return exitCodes.usage
  }
  await installOwnPackages('site')
  if (check) await installOwnPackages('next')
  await buildSite(base)
  const problems = brokenLinks(base)
  if (check) problems.push(...codeProblems(), ...(await lookAtSite(base)))
  for (const problem of problems) process.stderr.write(`${problem}\n`)
  process.stdout.write(`docs: ${sitePages.length} pages in site/dist, ${problems.length} problems\n`)
  return problems.length > 0 ? exitCodes.failed : exitCodes.ok
}

async function develop(): Promise<number> {
  await installOwnPackages('site')
  await writePages()
  const byFile = new Map(sitePages.map((page) => [join(root, page.file), page]))
  const watchers = ['docs', 'service', '.'].map((folder) =>
    watch(join(root, folder), { recursive: folder === 'docs' }, (_event, name) => {
      const page = byFile.get(join(root, folder, name ?? ''))
      if (page) stagePage(page)
    }),
  )
  const code = await showTool('vitepress', ['dev', '--host', '127.0.0.1'])
  for (const watcher of watchers) watcher.close()
  return code
}
