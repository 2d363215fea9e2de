export { AuthProvider, type AuthProviderProps, type ReactAuth, useAuth } from './auth-provider.ts'
