import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { builtFolder } from './folders.ts'

/** Returns each link of the built site that leads to no file or no anchor, and each part of a page from another host. */
export function brokenLinks(base: string): string[] {
  const files = readdirSync(builtFolder, { recursive: true, encoding: 'utf8' })
  const pages = new Map(
    files.filter((file) => file.endsWith('.html')).map((file) => [file, readFileSync(join(builtFolder, file), 'utf8')]),
  )
  const ids = new Map([...pages].map(([file, html]) => [file, new Set(valuesOf(html, /\sid="([^"]+)"/g))]))
  const fromPages = [...pages].flatMap(([file, html]) => [
    ...valuesOf(html, /<a\b[^>]*?\shref="([^"]*)"/g)
      .filter((link) => !/^(https?|mailto):/.test(link) && !leads(file, link))
      .map((link) => `${file}: ${link}`),
    ...foreignParts(html).map((part) => `${file}: ${part}`),
  ])
  const styles = files.filter((file) => file.endsWith('.css'))
  const fromStyles = styles.flatMap((file) =>
    valuesOf(readFileSync(join(builtFolder, file), 'utf8'), /(?:url\(|@import )["']?((?:https?:)?\/\/[^"')]+)/g).map(
      (part) => `${file}: ${part}`,
    ),
  )
  return [...fromPages, ...fromStyles, ...fromLlms(base)]

  function leads(file: string, link: string): boolean {
    const [path = '', anchor = ''] = decodeURIComponent(link).split('#')
    const target =
      path === '' ? file : fileAt(path.startsWith(base) ? path.slice(base.length) : `${dirname(file)}/${path}`)
    if (target === undefined) return false
    return anchor === '' || !target.endsWith('.html') || ids.get(target)?.has(anchor) === true
  }
}

/** Returns the file that a server sends for a path. */
function fileAt(path: string): string | undefined {
  const full = join(builtFolder, path)
  const candidates = [full, `${full}.html`, join(full, 'index.html')]
  const found = candidates.find((candidate) => existsSync(candidate) && statSync(candidate).isFile())
  return found === undefined ? undefined : relative(builtFolder, found)
}

/** Returns the scripts, styles, fonts and pictures that a page loads from another host. */
function foreignParts(html: string): string[] {
  return valuesOf(html, /<(?:script|img|link|source|iframe)\b[^>]*?\s(?:src|srcset|href)="((?:https?:)?\/\/[^"]+)"/g)
}

/** Returns the links of llms.txt that lead to no file. */
function fromLlms(base: string): string[] {
  const text = readFileSync(join(builtFolder, 'llms.txt'), 'utf8')
  const links = valuesOf(text, /\]\(([^)]+)\)/g)
  return links.filter((link) => fileAt(link.slice(base.length)) === undefined).map((link) => `llms.txt: ${link}`)
}

function valuesOf(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, value = '']) => value)
}
