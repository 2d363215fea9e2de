export type { AuthView, PageAuth } from '../page/auth-store.ts'
export { AuthProvider, type AuthProviderProps, type ReactAuth, useAuth } from './auth-provider.ts'
export { RequireSession, type RequireSessionProps, type SessionFallbackProps } from './require-session.ts'
