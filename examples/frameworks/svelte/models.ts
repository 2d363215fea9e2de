export * from '../models'
