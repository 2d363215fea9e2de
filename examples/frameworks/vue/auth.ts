export * from '../auth'
