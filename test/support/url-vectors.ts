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
    'https://api.example.com/v1#part',
    'https://api.example.com/v1/api/parent_agents/search',
    'https://api.example.com:443/v1/x',
    'HTTPS://API.EXAMPLE.COM/v1/x',
    'https:api.example.com/v1/x',
    'https:\\\\api.example.com\\v1\\x',
    'https:////api.example.com/v1/x',
    'https://api.example.com\\@evil.example/../v1/x',
    '://evil.example/v1/x',
    '  https://api.example.com/v1/x\n',
    'https://api.exa\tmple.com/v1/x',
    'https://%61pi.example.com/v1/x',
    'https://api.example\u3002com/v1/x',
    'https://\uff41pi.example.com/v1/x',
    'https://api.example.com/v1/a/../b',
    'https://api.example.com/v2/../v1/x',
    'https://api.example.com/v1/./x',
    'https://api.example.com/v1//x',
    'https://api.example.com/v1/..v2/x',
    'https://api.example.com/v1/x?to=https://evil.example/',
    'https://api.example.com/v1/x?up=%2f..%2f',
    'https://api.example.com/v1/x#@evil.example',
    'https://api.example.com/v1/@evil.example',
    '',
    '.',
    './',
    'x',
    'api/parent_agents',
    '?q=1',
    '#part',
    '/v1/x',
    '//api.example.com/v1/x',
    'x/../y',
  ),
  ...kept(
    // another host
    'https://example.com/v1/x',
    'https://evil.example/v1/x',
    'https://api.example.com.evil.example/v1/x',
    'https://api.example.com.evil/v1/x',
    'https://evil-api.example.com/v1/x',
    'https://apixexample.com/v1/x',
    'https://api-example.com/v1/x',
    'https://evil.example/api.example.com/v1/x',
    'https://evil.example/?https://api.example.com/v1/x',
    'https://evil.example#https://api.example.com/v1/x',
    'https://evil.example\\@api.example.com/v1/x',
    'https://evil.example/\\api.example.com/v1/x',
    'https://www.api.example.com/v1/x',
    'https://api.example.com./v1/x',
    'https://api.example.com../v1/x',
    'https://.api.example.com/v1/x',
    'https://api.example.co/v1/x',
    'https://api.example.comm/v1/x',
    'https://api.ex\u00e4mple.com/v1/x',
    'https://\u0430pi.example.com/v1/x',
    'https://xn--pi-7lc.example.com/v1/x',
    'https://localhost/v1/x',
    'https://127.0.0.1/v1/x',
    'https://2130706433/v1/x',
    'https://[::1]/v1/x',
    // another port or scheme
    'https://api.example.com:444/v1/x',
    'https://api.example.com:80/v1/x',
    'https://api.example.com:8443/v1/x',
    'http://api.example.com/v1/x',
    'http://api.example.com:443/v1/x',
    'ws://api.example.com/v1/x',
    'wss://api.example.com/v1/x',
    'ftp://api.example.com/v1/x',
    'file://api.example.com/v1/x',
    'file:///v1/x',
    'blob:https://api.example.com/v1/x',
    'filesystem:https://api.example.com/v1/x',
    'data:text/plain,https://api.example.com/v1/x',
    'javascript:https://api.example.com/v1/x',
    'about:blank',
    'mailto:a@api.example.com',
    'view-source:https://api.example.com/v1/x',
    'httpss://api.example.com/v1/x',
    // user info
    'https://user@api.example.com/v1/x',
    'https://user:password@api.example.com/v1/x',
    'https://:password@api.example.com/v1/x',
    'https://api.example.com@evil.example/v1/x',
    'https://api.example.com:443@evil.example/v1/x',
    'https://api.example.com%40evil.example/v1/x',
    'https://api.example.com%2f@evil.example/v1/x',
    'https://api.example.com:@evil.example/v1/x',
    'https://api.example.com&@evil.example#@evil2.example/v1',
    // another path
    'https://api.example.com',
    'https://api.example.com/',
    'https://api.example.com/?/v1/x',
    'https://api.example.com/#/v1/x',
    'https://api.example.com/v1x',
    'https://api.example.com/v1.evil',
    'https://api.example.com/v1-old/x',
    'https://api.example.com/v1%20/x',
    'https://api.example.com/v1;a=b',
    'https://api.example.com/v',
    'https://api.example.com/v2/x',
    'https://api.example.com/V1/x',
    'https://api.example.com/%761/x',
    'https://api.example.com/v%31/x',
    'https://api.example.com//v1/x',
    'https://api.example.com/x/v1/x',
    'https://api.example.com/v1/..',
    'https://api.example.com/v1/../x',
    'https://api.example.com/v1/../../x',
    'https://api.example.com/v1/..\\x',
    'https://api.example.com/v1\\..\\x',
    'https://api.example.com/v1/%2e%2e/x',
    'https://api.example.com/v1/%2E./x',
    'https://api.example.com/v1/.%2e/x',
    'https://api.example.com/v1/a/../../x',
    'https://api.example.com/v1/..%2fx',
    'https://api.example.com/v1/..%2Fx',
    'https://api.example.com/v1/..%5cx',
    'https://api.example.com/v1/..%5Cx',
    'https://api.example.com/v1/%2e%2e%2fx',
    'https://api.example.com/v1%2fx',
    'https://api.example.com/v1%2f..%2fx',
    'https://api.example.com/v1/x%2f..%2f..%2fadmin',
    // relative
    '..',
    '../',
    '../x',
    'x/../../y',
    '%2e%2e/x',
    '/',
    '/x',
    '/v1x',
    '//evil.example/v1/x',
    '\\\\evil.example/v1/x',
    '/\\evil.example/v1/x',
    '/\t/evil.example/v1/x',
    '//evil.example\\@api.example.com/v1/x',
    '///evil.example/v1/x',
    'http:x',
    // no URL at all
    'https://',
    'https://[api.example.com]/v1/x',
    'https://api.example.com:99999/v1/x',
    'https://api exam.example.com/v1/x',
    'https://api.example.com%00.evil/v1/x',
    'https://api<example>.com/v1/x',
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
const insides = ['', '/', '/x', '/x/y?q=/../', '/%20', '/..x', '/x..', '/.%20.', '/x?%2f', '/x#%2e%2e', '/%252e%252e']

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
