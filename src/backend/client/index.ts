export {
  type BackendClient,
  type BackendClientOptions,
  type BackendSignInOptions,
  type BackendSignOutOptions,
  createBackendClient,
} from './client.ts'
export type { BackendClientSession, BackendClientState } from './session.ts'
