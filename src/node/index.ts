export type { SharedStorage } from '../storage/shared/leased-storage.ts'
export { type FileStorageOptions, fileStorage } from './file-storage.ts'
export {
  type KeychainStorage,
  type KeychainStorageOptions,
  type Keyring,
  type KeyringEntry,
  keychainStorage,
} from './keychain-storage.ts'
export type { Terminal } from './loopback/paste.ts'
export { type LoopbackOptions, signInWithLoopback } from './loopback/sign-in.ts'
