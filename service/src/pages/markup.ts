/** HTML that is safe to put into a page as it stands. */
export class Markup {
  constructor(readonly html: string) {}
}

/** What may stand between two tags. `null`, `undefined` and booleans show nothing. */
export type Child = Markup | string | number | boolean | null | undefined | readonly Child[]

/** `true` is an attribute without a value; `false`, `null` and `undefined` leave it out. */
export type Attribute = string | number | boolean | null | undefined

const voidTags: ReadonlySet<string> = new Set(['br', 'hr', 'img', 'input', 'link', 'meta'])
const special = /[&<>"']/
const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

export function element(tag: string, attributes: Record<string, Attribute>, children: Child): Markup {
  let html = `<${tag}`
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) html += ` ${name}=""`
    else if (value !== undefined && value !== null && value !== false) html += ` ${name}="${escaped(String(value))}"`
  }
  return new Markup(voidTags.has(tag) ? `${html}/>` : `${html}>${textOf(children)}</${tag}>`)
}

export function textOf(child: Child): string {
  if (typeof child === 'string') return escaped(child)
  if (child instanceof Markup) return child.html
  if (typeof child === 'number') return String(child)
  return Array.isArray(child) ? child.map(textOf).join('') : ''
}

/** For text between tags and for quoted attributes. */
function escaped(text: string): string {
  return special.test(text) ? text.replace(/[&<>"']/g, (character) => entities[character] ?? '') : text
}
