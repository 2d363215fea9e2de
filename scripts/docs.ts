import { watch } from 'node:fs'
import { join } from 'node:path'
import { buildSite, writePages } from './docs/build.ts'
import { codeProblems } from './docs/code-blocks.ts'
import { root } from './docs/folders.ts'
import { sitePages, stagePage } from './docs/stage.ts'
import { showTool } from './docs/tools.ts'
import { exitCodes, runCommand } from './flags.ts'
import { installPackages } from './install.ts'

const help = `Usage: npx tsx scripts/docs.ts [--base PATH]
       npm run docs:dev

Compiles the code of all pages, and builds the documentation as a site in site/dist, with search, the API reference and llms.txt.
npm run docs:dev serves the pages and shows each change. The first run installs the packages of the site, and of the adapter for
Next.js, whose code the pages show.

  --base PATH  the path of the site on its host, with slashes around it; default /
  -h, --help   this text

Exit codes: 0 done, 1 a page is wrong or the site could not be built, 2 the arguments are wrong.
`

if (process.argv[2] === 'dev')
  await runCommand({ name: 'docs:dev', help, options: {}, args: process.argv.slice(3) }, develop)
else await runCommand({ name: 'docs', help, options: { base: { type: 'string', default: '/' } } }, build)

async function build({ base = '/' }: { base?: string }): Promise<number> {
  await Promise.all([installPackages('site'), installPackages('next')])
  await buildSite(base)
  const problems = codeProblems()
  for (const problem of problems) process.stderr.write(`${problem}\n`)
  process.stdout.write(`docs: ${sitePages.length} pages in site/dist, ${problems.length} problems\n`)
  return problems.length > 0 ? exitCodes.failed : exitCodes.ok
}

async function develop(): Promise<number> {
  await installPackages('site')
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
