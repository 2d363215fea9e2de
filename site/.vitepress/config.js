import { readFileSync } from 'node:fs'

// npm run docs writes the pages and this file beside them.
const { sidebar } = JSON.parse(readFileSync(new URL('../.pages/.site.json', import.meta.url), 'utf8'))

const escaped = (code) => code.replace(/[&<>"{}]/g, (character) => `&#${character.codePointAt(0)};`)

export default {
  title: 'agent-auth',
  description: 'Sign users in with OAuth 2.0 authorization code and PKCE, in pages, backends and command-line tools.',
  lang: 'en-US',
  srcDir: '.pages',
  outDir: 'dist',
  cleanUrls: false,
  // npm run docs checks all links and anchors of the built pages.
  ignoreDeadLinks: true,
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  markdown: {
    config(markdown) {
      const fence = markdown.renderer.rules.fence
      markdown.renderer.rules.fence = (tokens, index, ...rest) =>
        tokens[index].info === 'mermaid'
          ? `<Mermaid code="${escaped(tokens[index].content)}" />`
          : fence(tokens, index, ...rest)
    },
    // Anchors as GitHub makes them, because the pages are read there as well.
    anchor: {
      slugify: (text) =>
        text
          .toLowerCase()
          .replace(/[^\p{L}\p{N} _-]/gu, '')
          .replaceAll(' ', '-'),
    },
  },
  themeConfig: { sidebar, outline: [2, 3], search: { provider: 'local' } },
}
