import tsup from '../tsup.config.ts'
import { type Bundle, bundle } from './bundle.ts'
import type { Figure } from './figures.ts'

const core = [
  'createAuthConfig',
  'startLogin',
  'readCallback',
  'exchangeCode',
  'refreshTokens',
  'createSession',
  'createBearerFetch',
]
const coreName = 'login + callback + exchange + refresh + session + bearer'

const apiName = 'agent-auth/api, on top of that'

const redirectName = 'SPA: redirect, tabs, memory or web storage'

/** What an app with the browser entry has in its bundle, by what it uses. */
const browserSets: Record<string, string[]> = {
  [redirectName]: ['createBrowserAuth', 'webStorage'],
  'SPA: the same with IndexedDB': ['createBrowserAuth', 'indexedDbStorage'],
  'SPA: the same with IndexedDB and popup': ['createBrowserAuth', 'indexedDbStorage', 'popupLogin'],
}

/** In bytes, compressed with brotli: what a change may not exceed, and what the set should have. Decision 0014 has the reasons. */
export const limits: Readonly<Record<string, { readonly budget: number; readonly target: number }>> = {
  [coreName]: { budget: 15_700, target: 11_500 },
  [apiName]: { budget: 2_900, target: 2_500 },
  [redirectName]: { budget: 18_800, target: 14_200 },
  'agent-auth/browser': { budget: 19_900, target: 15_300 },
  'agent-auth/backend/client': { budget: 1_520, target: 1_500 },
}

/** The bytes of each set, compressed with brotli. */
export async function sizes(): Promise<Figure[]> {
  return [...(await measureSizes())].map(([name, { brotli }]) => {
    const figure = { name, value: brotli, unit: 'bytes' }
    const target = limits[name]?.target
    return target === undefined ? figure : { ...figure, target: { most: target } }
  })
}

/** Bundles every entry, and what typical apps import. */
export async function measureSizes(): Promise<Map<string, Bundle>> {
  const coreCode = `export { ${core.join(', ')} } from './src/index.ts'`
  const coreBundle = await bundle(coreCode)
  const withApi = await bundle(`${coreCode}\nexport * from './src/api/index.ts'`)
  const sizes = new Map([
    [coreName, coreBundle],
    [apiName, difference(withApi, coreBundle)],
  ])
  for (const [name, names] of Object.entries(browserSets))
    sizes.set(name, await bundle(`export { ${names.join(', ')} } from './src/browser/index.ts'`))
  for (const [name, source] of Object.entries(tsup.entry as Record<string, string>)) {
    const entry = name === 'index' ? 'agent-auth' : `agent-auth/${name}`
    sizes.set(entry, await bundle(`export * from './${source}'`))
  }
  return sizes
}

/** What the first holds besides the second. */
function difference(whole: Bundle, part: Bundle): Bundle {
  return {
    minified: whole.minified - part.minified,
    brotli: whole.brotli - part.brotli,
    parts: whole.parts.filter(([file]) => part.parts.every(([other]) => other !== file)),
  }
}
