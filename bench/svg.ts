import * as Plot from '@observablehq/plot'
import { Window } from 'happy-dom'

/** The colors of lines and points, which follow the color scheme of the reader. */
export const colors = ['var(--first)', 'var(--second)', 'var(--third)', 'var(--fourth)'] as const

/** One file for both color schemes of a reader. */
const style = `
.plot { color: #1f2328; --first: #cf222e; --second: #0969da; --third: #1a7f37; --fourth: #8250df; }
@media (prefers-color-scheme: dark) {
  .plot { color: #e6edf3; --first: #ff7b72; --second: #58a6ff; --third: #3fb950; --fourth: #d2a8ff; }
}
.plot text { white-space: pre; }`

/** Returns the plot as the text of an SVG file. */
export function svg(title: string, options: Plot.PlotOptions): string {
  const document = new Window().document as unknown as Document
  const plot = Plot.plot({
    document,
    width: 760,
    height: 340,
    marginLeft: 56,
    marginTop: 28,
    className: 'plot',
    ...options,
  })
  plot.setAttribute('xmlns', 'http://www.w3.org/2000/svg')
  plot.setAttribute('role', 'img')
  plot.setAttribute('aria-label', title)
  // Its own style is for a page that embeds it.
  plot.querySelector('style')?.remove()
  const sheet = document.createElement('style')
  sheet.textContent = style
  plot.prepend(sheet)
  return `${plot.outerHTML}\n`
}

/** The names in the colors of their lines, at the top left. */
export function legend(names: readonly string[], left: number): Plot.Markish {
  return names.map((name, index) =>
    Plot.text([name], {
      text: (text: string) => text,
      frameAnchor: 'top-left',
      dx: left,
      dy: index * 15,
      fill: colors[index] ?? 'currentColor',
    }),
  )
}
