import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { writeApiPages } from './api-pages.ts'
import { builtFolder, root, stagedFolder } from './folders.ts'
import { summaryOf, titleOf } from './markdown.ts'
import { siteSections } from './site-map.ts'
import { pageTitle, sitePages, stagePages } from './stage.ts'
import { runTool } from './tools.ts'

/** Writes all pages as VitePress reads them. */
export async function writePages(): Promise<void> {
  stagePages()
  const apiUrls = await writeApiPages()
  writeFileSync(join(stagedFolder, '.site.json'), JSON.stringify({ sidebar: sidebar(apiUrls) }))
}

/** Builds the site, with the text of each page and llms.txt beside it. */
export async function buildSite(base: string): Promise<void> {
  await writePages()
  await runTool('vitepress', ['build', '--base', base])
  for (const { url } of sitePages) {
    mkdirSync(dirname(join(builtFolder, url)), { recursive: true })
    copyFileSync(join(stagedFolder, `${url}.md`), join(builtFolder, `${url}.md`))
  }
  writeFileSync(join(builtFolder, 'llms.txt'), llmsText(base))
}

interface SidebarItem {
  readonly text: string
  readonly link?: string
  readonly items?: readonly SidebarItem[]
  readonly collapsed?: boolean
}

function sidebar(apiUrls: readonly string[]): SidebarItem[] {
  const api = apiUrls.slice(1).map((url) => ({ text: titleAt(url), link: `/${url}` }))
  return siteSections.map(({ title, pages }) => {
    const items: SidebarItem[] = pages.map((page) => ({ text: pageTitle(page), link: linkOf(page.url) }))
    if (title === 'Reference') items.push({ text: 'API', link: '/api/', items: api, collapsed: true })
    return { text: title, items, collapsed: title === 'Project' }
  })
}

function linkOf(url: string): string {
  return `/${url.replace(/(^|\/)index$/, '$1')}`
}

function titleAt(url: string): string {
  return titleOf(readFileSync(join(stagedFolder, `${url}.md`), 'utf8'))
}

/** Returns the list of pages for language models: each page with its first paragraph. */
function llmsText(base: string): string {
  const sections = siteSections.map(({ title, pages }) => {
    const lines = pages.map(({ file, url }) => {
      const text = readFileSync(join(root, file), 'utf8')
      return `- [${titleOf(text)}](${base}${url}.md): ${summaryOf(text)}`
    })
    return `## ${title}\n\n${lines.join('\n')}\n`
  })
  const home = readFileSync(join(root, 'docs/README.md'), 'utf8')
  return `# agent-auth\n\n> ${summaryOf(home)}\n\n${sections.join('\n')}`
}
