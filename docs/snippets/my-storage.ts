// What a reader has, for the page that proves it.
import { memoryStorage, type TokenStorage } from 'agent-auth'

export const myStorage: () => TokenStorage = memoryStorage
