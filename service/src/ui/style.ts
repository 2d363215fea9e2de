import { createHash } from 'node:crypto'

/**
 * One small style sheet for every page, inline and allowed by its hash, so that a page loads nothing else. It also keeps
 * the approve button from working in the first half second, without a script.
 */
export const style: string = `
:root { color-scheme: light dark; --text: #1b1f24; --soft: #57606a; --page: #f4f5f7; --card: #ffffff; --line: #d0d7de;
  --accent: #0b5cad; --on-accent: #ffffff; --bad: #a40e26; --good: #116329 }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --soft: #9da7b3; --page: #0d1117; --card: #161b22;
  --line: #3d444d; --accent: #6cb6ff; --on-accent: #0d1117; --bad: #ff8a8a; --good: #7ee2a0 } }
* { box-sizing: border-box }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1rem; background: var(--page);
  color: var(--text); font: 1rem/1.5 system-ui, sans-serif }
main { width: 100%; max-width: 26rem; background: var(--card); border: 1px solid var(--line); border-radius: .75rem;
  padding: 1.75rem 1.5rem 2rem }
main.wide { max-width: 70rem; align-self: start }
h1 { font-size: 1.35rem; line-height: 1.25; margin: 0 0 1rem }
h2 { font-size: 1.15rem; margin: 2rem 0 .75rem }
h3 { font-size: 1rem; margin: 1.5rem 0 .5rem; overflow-wrap: anywhere }
p { margin: 0 0 1rem; overflow-wrap: anywhere }
.brand { margin: 0 0 .25rem }
.brand, .soft { color: var(--soft); font-size: .875rem }
dl { margin: 0 0 1.5rem; display: grid; gap: .75rem }
dl.facts { grid-template-columns: repeat(auto-fit, minmax(14rem, 1fr)) }
dt { color: var(--soft); font-size: .875rem }
dd { margin: 0; overflow-wrap: anywhere }
code { font: .9em/1.5 ui-monospace, monospace; overflow-wrap: anywhere }
dd code, td code, [role=alert] code { user-select: all }
table { width: 100%; border-collapse: collapse; margin: 0 0 1rem; font-size: .9rem }
th, td { padding: .35rem 1rem .35rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top }
thead th { color: var(--soft); font-weight: 600; white-space: nowrap }
tbody th { font-weight: 400 }
td code, .line { display: block }
table.lines td, .line { overflow-wrap: anywhere }
label { display: block; margin: 0 0 .25rem; font-weight: 600 }
input, textarea, select { width: 100%; margin: 0 0 1rem; padding: .6rem .75rem; font: inherit; color: inherit;
  background: var(--page); border: 1px solid var(--soft); border-radius: .4rem }
button, a.button { display: inline-block; width: 100%; padding: .6rem 1rem; font: inherit; font-weight: 600;
  text-align: center; text-decoration: none; border-radius: .4rem; cursor: pointer; border: 1px solid var(--accent);
  background: var(--accent); color: var(--on-accent) }
button.plain { background: transparent; color: var(--accent) }
button.link { border-color: transparent; background: transparent; color: var(--accent); text-decoration: underline;
  font-weight: 400 }
.choices { display: grid; gap: .75rem }
.aside { margin-top: .75rem }
.bar { display: flex; flex-wrap: wrap; gap: .75rem; align-items: center; justify-content: space-between;
  margin: 0 0 1.5rem }
.bar > p { margin: 0 }
.bar > button, .bar > .button { width: auto }
.controls { display: grid; gap: 1.5rem; grid-template-columns: repeat(auto-fill, minmax(11.75rem, 1fr)) }
.controls h3 { margin-top: 0 }
.controls form + form { margin-top: .5rem }
.controls button { padding: .65rem .25rem; font-size: .9rem }
.controls button + button { margin-top: .5rem }
.faults { display: flex; flex-wrap: wrap; gap: .35rem }
.faults button { width: auto; padding: .2rem .6rem }
details { margin: 1.5rem 0; border-top: 1px solid var(--line) }
summary { padding: .75rem 0; cursor: pointer }
summary h2 { display: inline; margin: 0 }
fieldset { border: 0; margin: 0 0 1rem; padding: 0 }
legend { padding: 0; font-weight: 600 }
label.choice { font-weight: 400; margin: 0; padding: .25rem 0 }
input[type=radio] { width: auto; margin: 0 .35rem 0 0 }
a { color: var(--accent) }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
[role=alert], [role=status] { padding: .6rem .75rem; border-left: 4px solid; background: var(--page); font-weight: 600 }
[role=alert] { color: var(--bad) }
[role=status] { color: var(--good) }
/* Clickjacking by timing: a click that was meant for an earlier page must not approve. */
.late { animation: late .5s }
@keyframes late { from, 99% { pointer-events: none; interactivity: inert; opacity: .5 } }
@media (max-width: 45rem) {
  body { padding: .5rem; place-items: start center }
  main { padding: 1.25rem 1rem }
  table, tbody, tr, td, tbody th { display: block }
  thead { display: none }
  tr { padding: .6rem 0; border-bottom: 1px solid var(--line) }
  td, tbody th { border: 0; padding: 0; overflow-wrap: anywhere }
  td:empty { display: none }
  table.lines td { display: inline; padding-right: .5rem }
  table.lines td:first-child { color: var(--soft) }
  table:not(.lines) > tbody > tr > td[data-column]::before { content: attr(data-column); display: block; color: var(--soft);
    font-size: .8125rem }
  td table { margin: .25rem 0 0; padding-left: .75rem; border-left: 2px solid var(--line) }
}
`

export const styleHash: string = hashOf(style)

/** Returns the source expression that allows exactly this inline text. */
export function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}
