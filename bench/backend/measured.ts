// What the benches of the backend measure, in one bundle.
export { createBackend } from '../../src/backend/index.ts'
export { type BackendOptions, backendContext } from '../../src/backend/options.ts'
export { newSessionId, sessionKey } from '../../src/backend/session-cookie.ts'
export { createAuthConfig, createSession, memoryStorage, type TokenStorage } from '../../src/index.ts'
export { redisStorage } from '../../src/redis/index.ts'
export { sessionName } from '../../src/session/record.ts'
