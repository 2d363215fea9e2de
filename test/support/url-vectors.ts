export interface UrlVector {
  readonly url: string
  readonly token: 'sent' | 'kept'
}

/** The base URL that the vectors are about. */
export const vectorBase = 'https://api.example.com/v1'

const sent = (...urls: string[]): UrlVector[] => urls.map((url) => ({ url, token: 'sent' }))
const kept = (...urls: string[]): UrlVector[] => urls.map((url) => ({ url, token: 'kept' }))

/** Written by hand, one idea each. A relative URL counts from the base URL. */
const written: readonly UrlVector[] = [
  ...sent(
    'https://api.example.com/v1',
    'https://api.example.com/v1/',
    'https://api.example.com/v1?q=1',
    'https://api.example.com/v1/api/parent_agents/search',
    'https:api.example.com/v1/x',
    'https:\\\\api.example.com\\v1\\x',
    'https://api.example.com\\@evil.example/../v1/x',
    '://evil.example/v1/x',
    '  https://api.example.com/v1/x\n',
    'https://api.exa\tmple.com/v1/x',
    'https://\uff41pi.example.com/v1/x',
    'https://api.example.com/v1/a/../b',
    'https://api.example.com/v1//x',
    'https://api.example.com/v1/x?to=https://evil.example/',
    'https://api.example.com/v1/x?up=%2f..%2f',
    'https://api.example.com/v1/@evil.example',
    '',
    'x',
    'api/parent_agents',
    '?q=1',
    '/v1/x',
    '//api.example.com/v1/x',
    'x/../y',
  ),
  ...kept(
    // another host
    'https://evil.example/?https://api.example.com/v1/x',
    'https://evil.example\\@api.example.com/v1/x',
    'https://api.ex\u00e4mple.com/v1/x',
    'https://localhost/v1/x',
    'https://127.0.0.1/v1/x',
    // another port or scheme
    'https://api.example.com:80/v1/x',
    'http://api.example.com:443/v1/x',
    'file://api.example.com/v1/x',
    'file:///v1/x',
    'blob:https://api.example.com/v1/x',
    'data:text/plain,https://api.example.com/v1/x',
    'javascript:https://api.example.com/v1/x',
    'about:blank',
    'mailto:a@api.example.com',
    // user info
    'https://:password@api.example.com/v1/x',
    'https://api.example.com%40evil.example/v1/x',
    'https://api.example.com:@evil.example/v1/x',
    // another path
    'https://api.example.com',
    'https://api.example.com/',
    'https://api.example.com/?/v1/x',
    'https://api.example.com/#/v1/x',
    'https://api.example.com/v1x',
    'https://api.example.com/v1;a=b',
    'https://api.example.com/v2/x',
    'https://api.example.com/V1/x',
    'https://api.example.com/%761/x',
    'https://api.example.com//v1/x',
    'https://api.example.com/x/v1/x',
    'https://api.example.com/v1/..',
    'https://api.example.com/v1/../x',
    'https://api.example.com/v1/..\\x',
    'https://api.example.com/v1\\..\\x',
    'https://api.example.com/v1/a/../../x',
    'https://api.example.com/v1%2fx',
    'https://api.example.com/v1%2f..%2fx',
    'https://api.example.com/v1/x%2f..%2f..%2fadmin',
    'https://api.example.com/v1/x%2fy',
    'https://api.example.com/v1/x%5Cy',
    'https://api.example.com/v1/x%252fy',
    // what a server makes a way up of that decodes twice, or drops parameters of a segment
    'https://api.example.com/v1/..;/admin',
    'https://api.example.com/v1/..;a=b/admin',
    'https://api.example.com/v1/%2e%2e;/admin',
    'https://api.example.com/v1/..%3b/admin',
    'https://api.example.com/v1/..%253B/admin',
    'https://api.example.com/v1/..%00/admin',
    'https://api.example.com/v1/%252e%252e/admin',
    'https://api.example.com/v1/.%252E/admin',
    'https://api.example.com/v1/%252e%252e%252fadmin',
    'https://api.example.com/v1/..%255cadmin',
    'https://api.example.com/v1/%25252e%25252e%25252fadmin',
    'https://api.example.com/v1/..%25%32%66admin',
    'https://api.example.com/v1/%25%32%65%252e/admin',
    'https://api.example.com/v1/..%2525252525252fadmin',
    // relative
    '..',
    '../x',
    'x/../../y',
    '%2e%2e/x',
    '/',
    '//evil.example/v1/x',
    '\\\\evil.example/v1/x',
    '/\\evil.example/v1/x',
    '/\t/evil.example/v1/x',
    '//evil.example\\@api.example.com/v1/x',
    'http:x',
    // no URL at all
    'https://',
    'https://[api.example.com]/v1/x',
    'https://api.example.com:99999/v1/x',
    'https://api.example.com%00.evil/v1/x',
  ),
]

const hostileHosts = [
  'evil.example',
  'api.example.com.evil.example',
  'user@api.example.com',
  'user:pass@api.example.com',
  'api.example.com@evil.example',
  'api.example.com:pass@evil.example',
  'api.example.com\\@evil.example:1',
  'api.example.com.',
  'api.example.com:8443',
  'xapi.example.com',
  'api.example.com-x.example',
  'sub.api.example.com',
  'example.com',
  'api.example.org',
  '\u0430pi.example.com',
  '[::ffff:7f00:1]',
]
const innocentPaths = ['/v1', '/v1/x', '/v1/x?token=1', '/v1/x#y', '/v1/../v1/x', '/v1//']
const schemes = ['https:', 'http:', 'ws:', 'wss:', 'ftp:']
const ownHosts = ['api.example.com', 'API.example.COM', 'api.example.com:443', 'api%2eexample.com']
const climbs = ['..', '%2e%2e', '.%2E', '%2e.', '..%2f', '..%5c', '%2e%2e%2f', '%2e%2e%5c', '..%2F..', 'a%2f..%2f..']
const tails = ['', '/', '/x', '/v2/x', '?q', '#h']
const insides = [
  '/100%25',
  '/%25zz',
  '/a;b=c/x',
  '/x..;y',
  '/%E2%98%83%20%26',
  '',
  '/',
  '/x',
  '/x/y?q=/../',
  '/%20',
  '/..x',
  '/x..',
  '/x?%2f',
  '/x#%2e%2e',
]

/** Crossings of those ideas. */
const generated: readonly UrlVector[] = [
  ...cross(schemes, hostileHosts, innocentPaths).flatMap(([scheme, host, path]) => kept(`${scheme}//${host}${path}`)),
  ...cross(schemes.slice(1), ownHosts, innocentPaths).flatMap(([scheme, host, path]) =>
    kept(`${scheme}//${host}${path}`),
  ),
  ...cross(ownHosts, climbs, tails).flatMap(([host, climb, tail]) => kept(`https://${host}/v1/${climb}${tail}`)),
  ...cross(ownHosts, insides).flatMap(([host, path]) => sent(`https://${host}/v1${path}`)),
]

export const urlVectors: readonly UrlVector[] = [...written, ...generated]

function cross(...lists: readonly (readonly string[])[]): string[][] {
  return lists.reduce<string[][]>((rows, list) => rows.flatMap((row) => list.map((item) => [...row, item])), [[]])
}
