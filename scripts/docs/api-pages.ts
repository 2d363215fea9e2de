import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stagedFolder } from './folders.ts'
import { runTool } from './tools.ts'

/** The page of the entry point `agent-auth`. TypeDoc would name it after its file, as it names the list of entry points. */
const core = { made: 'index-1.md', named: 'agent-auth.md' }

/** Writes the API reference from the sources: one page for each entry point. Returns the URLs of the pages. */
export async function writeApiPages(): Promise<string[]> {
  await runTool('typedoc', ['--options', 'typedoc.json'])
  const folder = join(stagedFolder, 'api')
  renameSync(join(folder, core.made), join(folder, core.named))
  rmSync(join(folder, '_media'), { recursive: true, force: true })
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.md'))
  for (const file of files) writeFileSync(join(folder, file), named(readFileSync(join(folder, file), 'utf8'), file))
  const pages = files.filter((file) => file !== 'index.md').map((file) => `api/${file.replace(/\.md$/, '')}`)
  return ['api/index', ...pages.sort()]
}

/** Gives a page the name under which its entry point is imported. */
function named(text: string, file: string): string {
  const entry = file === core.named ? 'agent-auth' : `agent-auth/${file.replace(/\.md$/, '')}`
  const linked = text.replaceAll(core.made, core.named)
  // A docstring links to a guide in docs/. TypeDoc would copy the guide.
  const guides = linked.replace(/\]\((?:\.\.\/)*_media\//g, `](${'../'.repeat(file.split('/').length)}`)
  if (file === 'index.md') return guides.replace(/\[([\w/]+)\]/g, (_whole, name) => `[${importName(name)}]`)
  return guides.replace(/^# .*$/m, `# ${entry}`)
}

function importName(name: string): string {
  return name === 'index' ? 'agent-auth' : `agent-auth/${name}`
}
