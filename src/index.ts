export { type PendingLogin, type StartLoginOptions, startLogin } from './authorize.ts'
export type { BearerTargets } from './bearer/targets.ts'
export { type BearerFetchOptions, createBearerFetch } from './bearer.ts'
export { type ReadCallbackOptions, readCallback } from './callback.ts'
export { readClaims, type TokenClaims } from './claims.ts'
export { type AuthConfig, type AuthConfigOptions, createAuthConfig } from './config.ts'
export { type EndSessionUrlOptions, endSessionUrl } from './end-session.ts'
export {
  AgentAuthError,
  type AgentAuthErrorCode,
  type AgentAuthErrorDetails,
  type AgentAuthErrorOptions,
  isAgentAuthError,
} from './errors.ts'
export type { AuthEvent, StorageCause, StorageProblem } from './events.ts'
export { exchangeCode } from './exchange.ts'
export type { Grant } from './grant.ts'
export type { Clock } from './internal/clock.ts'
export { type PendingLogins, pendingLogins } from './pending-logins.ts'
export type { SessionEndReason, SessionState } from './session/memory.ts'
export {
  type AccessTokenSource,
  createSession,
  type GetAccessTokenOptions,
  type ResumeOptions,
  type Session,
  type SessionOptions,
} from './session.ts'
export { type EncryptedStorageOptions, type EncryptionKey, encryptedStorage } from './storage/encrypted-storage.ts'
export { memoryStorage } from './storage/memory.ts'
export type { MaybePromise, TokenStorage } from './storage/token-storage.ts'
export { refreshTokens } from './token-endpoint.ts'
export type { Tokens } from './tokens.ts'
