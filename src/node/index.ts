export type { SharedStorage } from '../storage/shared/leased-storage.ts'
export { fileStorage } from './file-storage.ts'
export type { Terminal } from './loopback/paste.ts'
export { type LoopbackOptions, signInWithLoopback } from './loopback/sign-in.ts'
