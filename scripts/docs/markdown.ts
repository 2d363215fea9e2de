/** Returns a page with its text changed and its fenced blocks and code spans as they are. `change` sees a mark for each of them. */
export function mapText(page: string, change: (text: string) => string): string {
  const codes: string[] = []
  const text = page.replace(/^ *```[\s\S]*?^ *```$|`[^`\n]*`/gm, (code) => `\0${codes.push(code) - 1}\0`)
  return change(text).replace(/\0(\d+)\0/g, (_mark, index: string) => codes[Number(index)] ?? '')
}

/** Returns the text of the first heading, without marks. */
export function titleOf(page: string): string {
  return plain(/^# (.+)$/m.exec(page)?.[1] ?? '')
}

/** Returns the first paragraph of text after the first heading, in one line and without marks. */
export function summaryOf(page: string): string {
  const paragraphs = page.replace(/^[\s\S]*?^# .+$/m, '').split(/\n{2,}/)
  const first = paragraphs.map((text) => text.trim()).find((text) => /^[\p{L}`*[]/u.test(text)) ?? ''
  return plain(first.replaceAll('\n', ' '))
}

function plain(text: string): string {
  return text.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/\*\*|`/g, '')
}
