import { setMaxListeners } from 'node:events'
import { beforeEach } from 'vitest'

// Runs before every test file. A test that is repeated goes on after a failure: what is left of it must not take hours.
beforeEach(({ task, signal }) => {
  if (task.result?.state === 'fail') throw new Error('not tried: an earlier repeat failed')
  // One listener of vitest's for each repeat is no leak.
  if (task.repeats) setMaxListeners(0, signal)
})
