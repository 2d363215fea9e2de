import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hash,
  type JsonWebKey,
  type KeyObject,
  randomBytes,
  randomUUID,
  timingSafeEqual,
} from 'node:crypto'
import { SignJWT } from 'jose'
import type { ServiceConfig } from '../config.ts'
import { lifetimes } from '../limits.ts'
import type { ServiceClock } from '../state.ts'
import { addServiceKey, type Db, findServiceKey, hashToken, type ServiceKeyName } from '../store/database.ts'
import { type Authorization, type ClientRefusal, saveAccessToken, saveRefreshToken } from '../store/tokens.ts'

/** Fixed prefixes, by which a secret scanner recognizes a leaked value. */
type TokenPrefix = 'aac_' | 'art_' | 'ast_'

/** Returns 256 random bits in base64url. */
export function randomSecret(): string {
  return randomBytes(32).toString('base64url')
}

/** Returns whether a text has the form of `randomSecret`, which no user chooses by chance. */
export function isSecret(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text)
}

export function randomToken(prefix: TokenPrefix): string {
  return prefix + randomSecret()
}

/** Returns 128 random bits behind the kind, so that ids of two kinds never collide. */
export function randomId(kind: 'app' | 'person' | 'grant' | 'secret'): string {
  return `${kind}_${randomBytes(16).toString('hex')}`
}

/** Returns the HMAC by which a client secret is stored and compared. */
export function keyedHash(key: Uint8Array, value: string): string {
  return createHmac('sha256', key).update(value).digest('base64url')
}

/** Compares two texts by their digests, so that the time reveals nothing about a match. */
export function sameText(left: string, right: string): boolean {
  const digest = (text: string): Buffer => hash('sha256', text, 'buffer')
  return timingSafeEqual(digest(left), digest(right))
}

/** Encrypts text with AES-256-GCM under a key that is derived from `secret`. */
export function encrypt(secret: string, text: string): string {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', encryptionKey(secret), nonce)
  const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), encrypted]).toString('base64url')
}

/** Decrypts what `encrypt` returned for the same secret. Throws for any other text. */
export function decrypt(secret: string, encrypted: string): string {
  const bytes = Buffer.from(encrypted, 'base64url')
  // Without the length, Node accepts a tag of four bytes, which is guessed in 2^32 tries.
  const options = { authTagLength: 16 }
  const decipher = createDecipheriv('aes-256-gcm', encryptionKey(secret), bytes.subarray(0, 12), options)
  decipher.setAuthTag(bytes.subarray(12, 28))
  return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString('utf8')
}

/** Derives the key by one hash, which is enough for a secret of 256 random bits. */
function encryptionKey(secret: string): Uint8Array {
  return hash('sha256', `agent-service encryption ${secret}`, 'buffer')
}

/** Returns a new private key for ES256. */
function newSigningKey(): JsonWebKey {
  // As PEM, because Node 20 waits for ever if it collects the garbage of a generation while it exports that key as a JWK.
  const { privateKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  return createPrivateKey(privateKey).export({ format: 'jwk' })
}

export interface ServiceKeys {
  /** Keys the stored hashes of client secrets and generated passwords. */
  readonly hashKey: Uint8Array
  readonly signingKey: KeyObject
  readonly verifyKey: KeyObject
  readonly keyId: string
}

/**
 * Reads the keys of this database. The first start makes them, and they stay as long as the data: there is no rotation. Tokens are
 * signed with ES256.
 */
export async function loadKeys(db: Db): Promise<ServiceKeys> {
  const hashKey = await keyNamed(db, 'hash', async () => randomSecret())
  const text = await keyNamed(db, 'signing', async () => JSON.stringify(newSigningKey()))
  const jwk: JsonWebKey = JSON.parse(text)
  const signingKey = createPrivateKey({ key: jwk, format: 'jwk' })
  return {
    hashKey: Buffer.from(hashKey, 'base64url'),
    signingKey,
    verifyKey: createPublicKey(signingKey),
    keyId: hashToken(`${jwk.x}.${jwk.y}`).slice(0, 16),
  }
}

async function keyNamed(db: Db, name: ServiceKeyName, make: () => Promise<string>): Promise<string> {
  const found = await findServiceKey(db, name)
  if (found !== undefined) return found
  await addServiceKey(db, name, await make())
  return keyNamed(db, name, make)
}

/** The parts of the service that an access token is made from and checked by. */
interface TokenIssuer {
  readonly config: ServiceConfig
  readonly clock: ServiceClock
  readonly keys: ServiceKeys
}

/** What access tokens say of their user. */
export interface TokenUser {
  email: string
  name: string
  permissions: string[]
}

const secondMs = 1_000

/** Signs an access token (RFC 9068, ES256) with the tenant and the permissions of the user. */
function signAccessToken(
  { config, clock, keys }: TokenIssuer,
  { authorization, user, expiresMs }: { authorization: Authorization; user: TokenUser; expiresMs: number },
): Promise<string> {
  const { clientId, tenantId, scope, personId } = authorization
  const { permissions, name, email } = user
  const profile = config.tokenClaims === 'profile' ? { name, email } : {}
  return (
    new SignJWT({ client_id: clientId, tenant: tenantId, permissions, scope, ...profile })
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: keys.keyId })
      .setIssuer(config.authUrl)
      .setAudience(config.baseUrl)
      .setSubject(personId)
      .setJti(randomUUID())
      .setIssuedAt(Math.floor(clock.nowMs() / secondMs))
      // Rounded up, because the stored time is exact and decides.
      .setExpirationTime(Math.ceil(expiresMs / secondMs))
      .sign(keys.signingKey)
  )
}

/** The tokens of a response, before they are written in its format. */
export interface IssuedTokens {
  accessToken: string
  accessExpiresMs: number
  /** Absent if the client keeps the refresh token that it has. */
  refreshToken?: string
  scope: string
  /** The user. */
  personId: string
}

/**
 * The result of a code or refresh token inside its transaction. A refusal is a value and no error, because an error would roll the
 * transaction back, with the count of attempts at a code (`countAttempt`) and the revocation after a reuse. `reused`: a used code or
 * token was presented again. Its authorization is revoked.
 */
export type IssueResult =
  | { kind: 'issued'; tokens: IssuedTokens }
  | { kind: 'invalid' }
  | { kind: 'unapproved'; reason: ClientRefusal }
  | { kind: 'reused'; user: { personId: string; tenant: string } }

/** How long an authorization lives, from its first tokens on. Its tokens live no longer, and rotation never extends it. */
export const absoluteLifeMs: Record<'public' | 'confidential', number> = {
  public: lifetimes.publicRefreshTokenMs,
  confidential: lifetimes.confidentialRefreshTokenMs,
}
/** How long a refresh token lives without a use. */
const idleLifeMs: Record<'public' | 'confidential', number> = {
  public: lifetimes.publicRefreshTokenIdleMs,
  confidential: lifetimes.confidentialRefreshTokenMs,
}

/** Returns when a refresh token expires if it is not used. */
export function idleExpiry({ expiresMs }: Authorization, clientKind: 'public' | 'confidential', nowMs: number): number {
  return Math.min(expiresMs, nowMs + idleLifeMs[clientKind])
}

/** Issues and stores an access token. It lives as long as the option `accessTokenLifeMs` says, but no longer than the authorization. */
export async function issueAccessToken(
  service: TokenIssuer,
  { tx, authorization, user }: { tx: Db; authorization: Authorization; user: TokenUser },
): Promise<IssuedTokens> {
  // An expired authorization is deleted with its tokens, so none may live longer.
  const expiresMs = Math.min(authorization.expiresMs, service.clock.nowMs() + service.config.accessTokenLifeMs)
  const accessToken = await signAccessToken(service, { authorization, user, expiresMs })
  await saveAccessToken(tx, { hash: hashToken(accessToken), authorizationId: authorization.id, expiresMs })
  return { accessToken, accessExpiresMs: expiresMs, scope: authorization.scope, personId: authorization.personId }
}

/** Issues an access token and a refresh token, and stores their hashes. */
export async function issuePair(
  service: TokenIssuer,
  issue: { tx: Db; authorization: Authorization; user: TokenUser; clientKind: 'public' | 'confidential' },
): Promise<IssuedTokens & { refreshToken: string }> {
  const issued = await issueAccessToken(service, issue)
  const refreshToken = randomToken('art_')
  await saveRefreshToken(issue.tx, {
    hash: hashToken(refreshToken),
    authorizationId: issue.authorization.id,
    idleExpiresMs: idleExpiry(issue.authorization, issue.clientKind, service.clock.nowMs()),
  })
  return { ...issued, refreshToken }
}
