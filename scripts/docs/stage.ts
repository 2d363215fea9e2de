import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { root, stagedFolder } from './folders.ts'
import { mapText, titleOf } from './markdown.ts'
import { type SitePage, siteSections, urlOf } from './site-map.ts'

/** What the page of decisions lists. They are in the site, and not in its navigation. */
const decisionPages: readonly SitePage[] = readdirSync(join(root, 'docs/decisions'))
  .filter((name) => /^\d{4}-/.test(name))
  .map((name) => ({ file: `docs/decisions/${name}`, url: urlOf(`docs/decisions/${name}`) }))

/** All pages that are written by hand. */
export const sitePages: readonly SitePage[] = [...siteSections.flatMap(({ pages }) => pages), ...decisionPages]

const urlByFile: ReadonlyMap<string, string> = new Map([
  ...sitePages.map(({ file, url }): [string, string] => [file, url]),
  ['README.md', 'index'],
  ['docs/decisions', 'decisions/index'],
])

/** Writes every page and picture to the folder that VitePress builds, with links as they are there. */
export function stagePages(): void {
  rmSync(stagedFolder, { recursive: true, force: true })
  for (const page of sitePages) stagePage(page)
  const pictures = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.svg'))
  for (const name of [...pictures, 'screenshots'])
    cpSync(join(root, 'docs', name), join(stagedFolder, name), { recursive: true })
}

/** Writes one page. */
export function stagePage({ file, url }: SitePage): void {
  const text = readFileSync(join(root, file), 'utf8')
  const target = join(stagedFolder, `${url}.md`)
  mkdirSync(dirname(target), { recursive: true })
  writeFileSync(
    target,
    mapText(text, (part) => relink(withThemes(part), file, url)),
  )
}

/** Shows the picture of the theme that the reader chose, which may differ from that of the system. */
function withThemes(text: string): string {
  return text.replace(
    /<picture><source [^>]*srcset="([^"]+)"><img src="([^"]+)" ([^>]*)><\/picture>/g,
    '<img class="only-dark" src="$1" $3><img class="only-light" src="$2" $3>',
  )
}

/** Changes each link for the place of the page in the site. A link to a source file becomes its label. */
function relink(text: string, file: string, url: string): string {
  const moved = (link: string): string | undefined => {
    if (/^([a-z]+:|#)/.test(link)) return link
    const [path = '', anchor] = link.split('#')
    const target = join(dirname(file), path).replace(/\/$/, '')
    const page = urlByFile.get(target) ?? pictureOf(target)
    if (page === undefined) return undefined
    const from = relative(dirname(url), page)
    return `${from.startsWith('.') ? '' : './'}${from}${anchor === undefined ? '' : `#${anchor}`}`
  }
  return text
    .replace(/(!?)\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g, (_whole, mark: string, label: string, link: string) => {
      const target = moved(link)
      return target === undefined ? label : `${mark}[${label}](${target})`
    })
    .replace(/\bsrc="([^"]+)"/g, (_whole, link: string) => `src="${moved(link) ?? link}"`)
}

/** Returns the place of a picture in the site, which is that in `docs/`. */
function pictureOf(target: string): string | undefined {
  return /^docs\/.*\.(svg|png)$/.test(target) ? target.slice('docs/'.length) : undefined
}

/** Returns the title of a page. */
export function pageTitle({ file }: SitePage): string {
  return titleOf(readFileSync(join(root, file), 'utf8'))
}
