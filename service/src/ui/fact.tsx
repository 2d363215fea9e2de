/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import type { HtmlEscapedString } from 'hono/utils/html'

/** One line of a list of facts. */
export function Fact({
  name,
  children,
}: {
  name: string
  children: Child
}): HtmlEscapedString | Promise<HtmlEscapedString> {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <bdi>{children}</bdi>
      </dd>
    </div>
  )
}
