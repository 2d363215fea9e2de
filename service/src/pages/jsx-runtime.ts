import type { Attribute, Child } from './markup.ts'
import { element, Markup, textOf } from './markup.ts'

/**
 * What TypeScript turns tags into (`@jsxImportSource .`): text at once. hono/jsx keeps a context for asynchronous
 * components, which costs every promise of the process from the first page on, and no page of ours has one.
 */
export function jsx(tag: string | Component, props: Props): Markup {
  if (typeof tag === 'function') return tag(props)
  const { children, ...attributes } = props
  return element(tag, attributes as Record<string, Attribute>, children)
}

export { jsx as jsxs }

export function Fragment({ children }: Props): Markup {
  return new Markup(textOf(children))
}

interface Props {
  [name: string]: unknown
  children?: Child
}

type Component = (props: Props) => Markup

export declare namespace JSX {
  type Element = Markup
  interface ElementChildrenAttribute {
    children: Child
  }
  interface IntrinsicElements {
    [tag: string]: { [attribute: string]: Attribute | Child; children?: Child }
  }
}
