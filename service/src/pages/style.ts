import { createHash } from 'node:crypto'

/** One small style sheet for every page, inline and allowed by its hash, so that a page loads nothing else. */
export const style: string = `
:root { color-scheme: light dark; --text: #1b1f24; --soft: #57606a; --page: #f4f5f7; --card: #ffffff; --line: #d0d7de;
  --accent: #0b5cad; --on-accent: #ffffff; --bad: #a40e26 }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --soft: #9da7b3; --page: #0d1117; --card: #161b22;
  --line: #3d444d; --accent: #6cb6ff; --on-accent: #0d1117; --bad: #ff8a8a } }
* { box-sizing: border-box }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1rem; background: var(--page);
  color: var(--text); font: 1rem/1.5 system-ui, sans-serif }
main { width: 100%; max-width: 26rem; background: var(--card); border: 1px solid var(--line); border-radius: .75rem;
  padding: 2rem 1.5rem }
main.wide { max-width: 64rem }
h1 { font-size: 1.35rem; line-height: 1.25; margin: 0 0 1rem }
h2 { font-size: 1.15rem; margin: 2rem 0 .75rem }
h3 { font-size: 1rem; margin: 1.5rem 0 .5rem; overflow-wrap: anywhere }
section, td { overflow-x: auto }
table { width: 100%; border-collapse: collapse; margin: 0 0 1rem; font-size: .9rem }
th, td { padding: .35rem .5rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top;
  overflow-wrap: anywhere }
thead th { color: var(--soft); font-weight: 600 }
p { margin: 0 0 1rem; overflow-wrap: anywhere }
dl { margin: 0 0 1.5rem; display: grid; gap: .75rem }
dt { color: var(--soft); font-size: .875rem }
dd { margin: 0; overflow-wrap: anywhere }
label { display: block; margin: 0 0 .25rem; font-weight: 600 }
input, textarea, select { width: 100%; margin: 0 0 1rem; padding: .6rem .75rem; font: inherit; color: inherit; background: var(--page);
  border: 1px solid var(--soft); border-radius: .4rem }
button { width: 100%; padding: .65rem 1rem; font: inherit; font-weight: 600; border-radius: .4rem; cursor: pointer;
  border: 1px solid var(--accent); background: var(--accent); color: var(--on-accent) }
button.plain { background: transparent; color: var(--accent) }
.controls { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fill, minmax(14rem, 1fr)); align-items: end }
fieldset { border: 0; margin: 0 0 1rem; padding: 0 }
legend { padding: 0; font-weight: 600 }
label.choice { font-weight: 400; margin: .25rem 0 }
input[type=radio] { width: auto; margin: 0 .35rem 0 0 }
form.choices { display: grid; gap: .75rem }
.aside { margin-top: .75rem }
a { color: var(--accent) }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
[role="alert"] { color: var(--bad); font-weight: 600 }
`

export const styleHash: string = `'sha256-${createHash('sha256').update(style).digest('base64')}'`
