import { readFileSync } from 'node:fs'

// npm run docs writes the pages and this file beside them.
const { sidebar } = JSON.parse(readFileSync(new URL('../.pages/.site.json', import.meta.url), 'utf8'))

const escaped = (code) => code.replace(/[&<>"{}]/g, (character) => `&#${character.codePointAt(0)};`)

// VitePress sends these functions to the page as text, so they use nothing from outside.
const searchOptions = {
  // Short words are compared whole, because as prefixes they match most pages.
  prefix: (term) => term.length > 2,
  fuzzy: (term) => (term.length > 5 ? 0.2 : false),
  // Pages use one word of each pair, and readers search for both.
  processTerm: (term) => {
    const word = term.toLowerCase()
    return { logout: ['logout', 'signout'], signout: ['signout', 'logout'] }[word] ?? word
  },
  // Guides come first. The page of a function comes early only for its own name.
  boostDocument: (id, term, { title }) => {
    if (/\/decisions\/\d/.test(id)) return 0.1
    if (/\/api\/./.test(id)) return title.toLowerCase() === `${term}()` ? 0.3 : 0.2
    return /\/(project|moving|architecture|requirements|numbers|benchmarks|agent-service\/assumptions)/.test(id)
      ? 0.3
      : 1
  },
}

export default {
  title: 'agent-auth',
  description: 'Sign users in with OAuth 2.0 authorization code and PKCE, in pages, backends and command-line tools.',
  lang: 'en-US',
  srcDir: '.pages',
  outDir: 'dist',
  cleanUrls: false,
  // test/docs.test.ts checks the links and anchors of the pages.
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
  themeConfig: {
    sidebar,
    outline: [2, 3],
    search: { provider: 'local', options: { miniSearch: { searchOptions } } },
  },
  // A quick start says itself what comes next, which is not the next page of the navigation.
  transformPageData(page) {
    if (page.relativePath.startsWith('start/')) page.frontmatter.next = false
  },
}
