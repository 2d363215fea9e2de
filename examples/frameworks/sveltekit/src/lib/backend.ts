export * from '../../../backend'
