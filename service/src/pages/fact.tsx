/** @jsxImportSource . */
import type { Child, Markup } from './markup.ts'

/** One line of a list of facts. */
export function Fact({ name, children }: { name: string; children: Child }): Markup {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <bdi>{children}</bdi>
      </dd>
    </div>
  )
}
