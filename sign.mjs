import { SignJWT, CompactSign } from 'jose'
import { createPrivateKey, generateKeyPairSync, sign, randomUUID, webcrypto } from 'node:crypto'
const { privateKey: pem } = generateKeyPairSync('ec', { namedCurve: 'P-256', publicKeyEncoding: { type: 'spki', format: 'pem' }, privateKeyEncoding: { type: 'pkcs8', format: 'pem' } })
const ko = createPrivateKey(pem)
const ck = await webcrypto.subtle.importKey('pkcs8', ko.export({ format: 'der', type: 'pkcs8' }), { name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign'])
const claims = { client_id: 'app_0123456789abcdef', tenant: 'tenant', permissions: ['a', 'b', 'c'], scope: 'api.access' }
const jwt = (key) => new SignJWT(claims).setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: 'k' }).setIssuer('http://127.0.0.1').setAudience('http://127.0.0.1:1').setSubject('person').setJti(randomUUID()).setIssuedAt(1e9).setExpirationTime(2e9).sign(key)
const jwt2 = (key) => new SignJWT({...claims, iss: 'http://127.0.0.1', aud: 'http://127.0.0.1:1', sub: 'person', jti: randomUUID(), iat: 1e9, exp: 2e9}).setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: 'k' }).sign(key)
const enc = new TextEncoder()
const cases = {
  'node sign sync': async () => sign('sha256', enc.encode(JSON.stringify(claims)), { key: ko, dsaEncoding: 'ieee-p1363' }),
  'webcrypto': () => webcrypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, ck, enc.encode(JSON.stringify(claims))),
  'jose KeyObject': () => jwt(ko),
  'jose CryptoKey': () => jwt(ck),
  'jose CryptoKey, claims in ctor': () => jwt2(ck),
}
for (const par of [1, 4]) for (let r = 0; r < 3; r++) for (const [n, f] of Object.entries(cases)) {
  for (let i = 0; i < 500; i++) await f()
  const b = process.cpuUsage(); const N = 2000
  await Promise.all(Array.from({ length: par }, async () => { for (let i = 0; i < N / par; i++) await f() }))
  const a = process.cpuUsage(b)
  if (r === 2) console.log(par, n.padEnd(32), ((a.user + a.system) / N).toFixed(0), 'user', (a.user / N).toFixed(0), 'sys', (a.system / N).toFixed(0))
}
