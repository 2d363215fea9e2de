import fc from 'fast-check'

// Runs before every test file: the same input each time, so that a failure belongs to the change.
fc.configureGlobal({ seed: 20_270_131 })
