export type { SharedStorage } from '../storage/shared/leased-storage.ts'
export { fileStorage } from './file-storage.ts'
