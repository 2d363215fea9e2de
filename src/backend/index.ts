export { type Backend, createBackend } from './backend.ts'
export type { ErrorCause } from './error-cause.ts'
export type {
  BackendEvent,
  EndedSessionRemovedEvent,
  LoggedOutEvent,
  LoginFailedEvent,
  ProxiedEvent,
  ProxyRefusal,
  Revocation,
  SessionsEndedEvent,
  SetupProblemEvent,
  StorageOperation,
} from './events.ts'
export type { BackendOptions, NewSession } from './options.ts'
export type { ProxyRouteOptions } from './proxy/allowed-routes.ts'
export type { ProxyHeaderNames } from './proxy/headers.ts'
export type { SessionAnswer } from './routes/session.ts'
export type { BackendSession, SessionSource, SignedInSession } from './sessions/get-session.ts'
