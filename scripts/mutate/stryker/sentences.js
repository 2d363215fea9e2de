import { declareValuePlugin, PluginKind } from '@stryker-mutator/api/plugin'

/** Leaves sentences as they are: they are for people, and tests compare the codes. */
const sentences = {
  shouldIgnore({ node }) {
    const text = node.type === 'StringLiteral' ? node.value : textOf(node)
    return /\S\s/.test(text) ? 'a sentence is for people, and tests compare its code' : undefined
  },
}

/** Returns the text of a template between its expressions. */
function textOf(node) {
  return node.type === 'TemplateLiteral' ? node.quasis.map(({ value }) => value.raw).join('x') : ''
}

export const strykerPlugins = [declareValuePlugin(PluginKind.Ignore, 'sentences', sentences)]
