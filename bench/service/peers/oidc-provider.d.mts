import type { Provider } from 'oidc-provider'

export declare function createProvider(issuer: string, client: { clientId: string; redirectUri: string }): Provider
