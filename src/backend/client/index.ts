export { type BackendClient, createBackendClient } from './client.ts'
export type { BackendClientOptions, BackendSignInOptions } from './options.ts'
export type { BackendClientSession } from './session.ts'
export type { BackendClientState } from './state.ts'
