import { beforeEach } from 'vitest'

// Runs before every test file. A test that is repeated goes on after a failure: what is left of it must not take hours.
beforeEach(({ task }) => {
  if (task.result?.state === 'fail') throw new Error('not tried: an earlier repeat failed')
})
