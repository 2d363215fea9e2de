// What the benches of the backend measure, in one bundle.

export { backendContext } from '../../src/backend/context.ts'
export { pendingLoginKeys } from '../../src/backend/cookies/pending-login-keys.ts'
export { newSessionId, sessionKey } from '../../src/backend/cookies/session-cookie.ts'
export { createBackend } from '../../src/backend/index.ts'
export type { BackendOptions } from '../../src/backend/options.ts'
export { createAuthConfig, createSession, memoryStorage, type TokenStorage } from '../../src/index.ts'
export { redisStorage } from '../../src/redis/index.ts'
export { sessionName } from '../../src/session/record.ts'
export { decrypt, encrypt } from '../../src/storage/jwe.ts'
