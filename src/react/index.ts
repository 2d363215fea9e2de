export { AuthProvider, type AuthProviderProps, type PageAuth, type ReactAuth, useAuth } from './auth-provider.ts'
export { RequireSession, type RequireSessionProps, type SessionFallbackProps } from './require-session.ts'
