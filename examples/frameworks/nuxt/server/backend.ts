export * from '../../backend'
